# SPDX-License-Identifier: Apache-2.0
"""What trainers do with SandboxFusion: its client, sync and async; and the scorer of verl."""
import asyncio
import base64
import importlib.util
import os
import sys
import sysconfig
import threading
from pathlib import Path

import sandbox_fusion as fusion

URL = os.environ["SERVER_URL"]


def client() -> None:
    fusion.set_endpoint(URL)
    done = fusion.run_code(fusion.RunCodeRequest(
        code="import sys\nprint(sys.stdin.read().upper())\nopen('out.bin', 'wb').write(open('in.bin', 'rb').read()[::-1])",
        language="python", stdin="text", files={"in.bin": base64.b64encode(b"\0\1\xff").decode(), "none": None},
        fetch_files=["out.bin", "absent"]))
    assert done.status == fusion.RunStatus.Success, done
    assert done.run_result.stdout == "TEXT\n" and done.run_result.return_code == 0, done
    assert base64.b64decode(done.files["out.bin"]) == b"\xff\1\0" and list(done.files) == ["out.bin"], done
    failed = fusion.run_code(fusion.RunCodeRequest(code="echo out; echo err >&2; exit 3", language="bash"))
    assert failed.status == fusion.RunStatus.Failed and failed.run_result.return_code == 3, failed
    assert (failed.run_result.stdout, failed.run_result.stderr) == ("out\n", "err\n"), failed
    slow = fusion.run_code(fusion.RunCodeRequest(code="while (true) {}", language="nodejs", run_timeout=0.3))
    assert slow.run_result.status == fusion.CommandRunStatus.TimeLimitExceeded, slow
    assert slow.run_result.return_code is None, slow
    mapping = fusion.SummaryMapping(Success="good", Failed="bad", RunTimeout="late")
    assert fusion.summary_run_code_result(slow, mapping) == "late"
    assert fusion.summary_run_code_result(done, mapping) == "good"


def several_at_once() -> None:
    async def main() -> None:
        answers = await asyncio.gather(*(fusion.run_code_async(fusion.RunCodeRequest(
            code=f"print({i} ** 2)", language="python")) for i in range(64)))
        assert [one.run_result.stdout for one in answers] == [f"{i ** 2}\n" for i in range(64)]

    asyncio.run(main())


def verl_scorer():
    """The package without what it wants besides (torch): the scorer's files as they are."""
    folder = Path(sysconfig.get_paths()["purelib"], "verl/utils/reward_score/sandbox_fusion")
    spec = importlib.util.spec_from_file_location("scorer", folder / "__init__.py",
                                                  submodule_search_locations=[str(folder)])
    module = importlib.util.module_from_spec(spec)
    sys.modules["scorer"] = module
    spec.loader.exec_module(module)
    return module.compute_score


def verl() -> None:
    score = verl_scorer()
    endpoint = URL + "/run_code"
    cases = {"inputs": [f"{i} {i + 1}\n" for i in range(64)], "outputs": [f"{2 * i + 1}\n" for i in range(64)]}
    good = "```python\na, b = map(int, input().split())\nprint(a + b)\n```"
    wrong = "```python\na, b = map(int, input().split())\nprint(a + b if a % 2 else 0)\n```"
    gate = threading.Semaphore(64)
    value, told = score(endpoint, gate, 1024, good, cases)
    assert value == 1.0, [one["status"] for one in told]
    print(sum(one["status"] == "success" for one in told), "of", len(told), "cases")
    value, told = score(endpoint, gate, 1024, wrong, cases)
    assert value == 0.5, [one["status"] for one in told]
    for code, status in (("1/0", "runtime_error"), ("while True: pass", "timeout")):
        value, told = score(endpoint, gate, 1024, f"```python\n{code}\n```", {"inputs": [""], "outputs": ["1"]}, timeout=1)
        assert (value, told[0]["status"]) == (0.0, status), told
    by_name = {"inputs": ["[1, 2]\n3"], "outputs": ["[3, 2, 1]"], "fn_name": "add"}
    value, told = score(endpoint, gate, 1024, "```python\ndef add(xs, x):\n    return sorted(xs + [x], reverse=True)\n```", by_name)
    assert value == 1.0, told
    asserts = {"assert_case": ["assert f(2) == 4", "assert f(3) == 4"]}
    value, told = score(endpoint, gate, 1024, "```python\ndef f(x): return x * x\n```", asserts)
    assert value == 0.5, told


client()
several_at_once()
verl()
