# SPDX-License-Identifier: Apache-2.0
"""What a program for E2B does with an older Python client, and with its code interpreter's."""
import importlib.metadata
import os

import e2b
import e2b_code_interpreter
from e2b import CommandExitException

IS_FIRST = importlib.metadata.version("e2b").startswith("1.")


def make(kind):
    return kind() if IS_FIRST else kind.create()


def sandboxes():
    sandbox = make(e2b.Sandbox)
    result = sandbox.commands.run("echo hello; pwd; echo err >&2")
    assert (result.stdout, result.stderr) == ("hello\n/home/user\n", "err\n"), result
    try:
        sandbox.commands.run("exit 4")
        raise AssertionError("no exception")
    except CommandExitException as problem:
        assert problem.exit_code == 4
    sandbox.files.write("deep/f.txt", "text")
    assert sandbox.files.read("deep/f.txt") == "text"
    assert [each.name for each in sandbox.files.list("deep")] == ["f.txt"]
    handle = sandbox.commands.run("while read line; do echo got $line; done", background=True,
                                  **({} if IS_FIRST else {"stdin": True}))
    sandbox.commands.send_stdin(handle.pid, "one\n")
    assert next(out for out, _, _ in handle if out) == "got one\n"
    assert sandbox.commands.kill(handle.pid) is True
    watch = sandbox.files.watch_dir("deep", recursive=True)
    sandbox.commands.run("echo more > deep/g")
    assert ("g", "create") in [(each.name, each.type.value) for each in watch.get_new_events()]
    watch.stop()
    assert sandbox.get_host(8123) == f"8123-{sandbox.sandbox_id}.{os.environ['E2B_DOMAIN']}"
    assert sandbox.is_running() and sandbox.get_info().sandbox_id == sandbox.sandbox_id
    sandbox.set_timeout(100)
    listed = e2b.Sandbox.list()
    assert sandbox.sandbox_id in [each.sandbox_id for each in (listed if isinstance(listed, list) else listed.next_items())]
    sandbox.kill()


def code_interpreter():
    sandbox = make(e2b_code_interpreter.Sandbox)
    run = sandbox.run_code("x = 20\nprint('hi')\nx + 22")
    assert (run.text, run.logs.stdout) == ("42", ["hi\n"]), run
    context = sandbox.create_code_context()
    assert sandbox.run_code("'x' in globals()", context=context).text == "False"
    assert sandbox.run_code("1/0").error.name == "ZeroDivisionError"
    sandbox.kill()


sandboxes()
code_interpreter()
print("done", flush=True)
os._exit(0)
