# SPDX-License-Identifier: Apache-2.0
"""A program for E2B's code interpreter, as its users write them: it knows nothing of Cloche."""
import asyncio
import os

from e2b_code_interpreter import AsyncSandbox, Sandbox


def cells(sandbox):
    assert sandbox.run_code("x = 1; x").text == "1"
    assert sandbox.run_code("x += 1; x").text == "2"
    lines = []
    execution = sandbox.run_code("print('out')\nimport sys\nprint('err', file=sys.stderr)",
                                 on_stdout=lambda m: lines.append(m.line), on_stderr=lambda m: lines.append(m.line))
    assert ("".join(execution.logs.stdout), "".join(execution.logs.stderr)) == ("out\n", "err\n")
    assert sorted(line.strip() for line in lines) == ["err", "out"], lines
    error = sandbox.run_code("1 / 0").error
    assert error.name == "ZeroDivisionError" and "1 / 0" in error.traceback
    assert sandbox.run_code("import os; os.environ['A']", envs={"A": "b"}).text == "b"
    assert "".join(sandbox.run_code("echo hello", language="bash").logs.stdout) == "hello\n"
    assert sandbox.run_code("[1, 2].length", language="js").text == "2"


def pictures(sandbox):
    execution = sandbox.run_code("import matplotlib.pyplot as plt\nplt.plot([1, 2], [3, 4], label='a')\nplt.title('T')\nplt.show()")
    result = execution.results[0]
    assert result.png and "png" in result.formats() and not result.is_main_result
    assert result.chart.title == "T" and result.chart.elements[0].label == "a", result.chart
    table = sandbox.run_code("import pandas as pd\npd.DataFrame({'a': [1, 2]})").results[0]
    assert table.is_main_result and "<table" in table.html and table.data == {"a": [1, 2]}


def contexts(sandbox):
    context = sandbox.create_code_context(cwd="/tmp", language="python")
    assert sandbox.run_code("y = 5\nimport os; os.getcwd()", context=context).text == "/tmp"
    assert sandbox.run_code("y").error.name == "NameError"
    assert context.id in [each.id for each in sandbox.list_code_contexts()]
    sandbox.restart_code_context(context)
    assert sandbox.run_code("y", context=context).error.name == "NameError"
    sandbox.remove_code_context(context)


async def asynchronous():
    sandbox = await AsyncSandbox.create()
    assert (await sandbox.run_code("6 * 7")).text == "42"
    await sandbox.kill()


def main():
    sandbox = Sandbox.create()
    cells(sandbox)
    pictures(sandbox)
    contexts(sandbox)
    sandbox.kill()
    asyncio.run(asynchronous())


main()
print("done", flush=True)
# A thread of pyqwest, the HTTP library of the client, now and then aborts the interpreter on its way out.
os._exit(0)
