# SPDX-License-Identifier: Apache-2.0
"""What SWE-agent asks of a SWE-ReX deployment, of a sandbox."""
import asyncio
import os
import tempfile
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from swerex import exceptions
from swerex.runtime.abstract import (BashAction, BashInterruptAction, CloseBashSessionRequest, Command,
                                     CreateBashSessionRequest, ReadFileRequest, UploadRequest, WriteFileRequest)

from cloche.adapters.swerex import ClocheDeployment

SERVER = {"url": os.environ["SERVER_URL"], "token": os.environ["SERVER_TOKEN"]} if "SERVER_URL" in os.environ else {}


@contextmanager
def raises(kind, text=""):
    try:
        yield
    except kind as error:
        assert text in str(error), error
    else:
        raise AssertionError(f"no {kind.__name__}")


@asynccontextmanager
async def deployed():
    deployment = ClocheDeployment(**SERVER)
    with raises(exceptions.DeploymentNotStartedError):
        deployment.runtime
    await deployment.start()
    assert await deployment.is_alive()
    yield deployment.runtime
    await deployment.stop()
    await deployment.stop()
    with raises(exceptions.DeploymentNotStartedError):
        await deployment.is_alive()


async def sessions(runtime) -> None:
    async def run(command, **more):
        return await runtime.run_in_session(BashAction(command=command, **more))

    with raises(exceptions.SessionDoesNotExistError):
        await run("ls")
    await runtime.write_file(WriteFileRequest(path="/tmp/start.sh", content="FROM_START=yes; echo sourced"))
    made = await runtime.create_session(CreateBashSessionRequest(startup_source=["/tmp/start.sh"], startup_timeout=30))
    assert made.output == "sourced\n", made
    with raises(exceptions.SessionExistsError):
        await runtime.create_session(CreateBashSessionRequest())
    assert (await run("echo $FROM_START; pwd")).output == "yes\n/workspace\n"
    await run("cd /tmp; export A='x y'; f() { echo \"f: $1\"; }")
    seen = await run("f \"$A\"; pwd; printf 'no end of line'")
    assert (seen.output, seen.exit_code) == ("f: x y\n/tmp\nno end of line", 0), seen
    assert (await run("for i in 1 2\ndo\n  echo $i\ndone\ncat <<'END'\n$A `x`\nEND")).output == "1\n2\n$A `x`\n"
    assert (await run("read x; echo [$x]; echo to-err >&2")).output == "[]\nto-err\n"
    assert (await run("false", check="silent")).exit_code == 1
    assert (await run("false", check="ignore")).exit_code is None
    with raises(exceptions.NonZeroExitCodeError, "why: "):
        await run("echo out; false", error_msg="why")
    with raises(exceptions.BashIncorrectSyntaxError):
        await run("if then")
    assert (await run("echo on; echo 'é\\n'")).output == "on\né\\n\n"
    assert len((await run("head -c 3000000 /dev/zero | tr '\\0' x")).output) == 3_000_000
    with raises(exceptions.CommandTimeoutError):
        await run("echo before; sleep 1000; echo after", timeout=0.3)
    stopped = await runtime.run_in_session(BashInterruptAction(timeout=30))
    assert (stopped.output, stopped.exit_code) == ("before\nafter\n", 0), stopped
    assert (await run("f still")).output == "f: still\n"
    with raises(NotImplementedError, "terminal"):
        await run("python3", is_interactive_command=True, expect=[">>> "])
    other = CreateBashSessionRequest(session="other")
    await runtime.create_session(other)
    both = await asyncio.gather(run("echo $A"), run("echo [$A]", session="other"))
    assert [one.output for one in both] == ["x y\n", "[]\n"], both
    gone = await run("exit 3", session="other", check="silent")
    assert gone.exit_code == 3, gone
    with raises(exceptions.SessionNotInitializedError):
        await run("ls", session="other")
    await runtime.close_session(CloseBashSessionRequest(session="other"))
    with raises(exceptions.SessionDoesNotExistError):
        await runtime.close_session(CloseBashSessionRequest(session="other"))


async def programs_and_files(runtime) -> None:
    done = await runtime.execute(Command(command=["printf", "%s|", "a b", "$HOME"]))
    assert (done.stdout, done.stderr, done.exit_code) == ("a b|$HOME|", "", 0), done
    done = await runtime.execute(Command(command="echo $A; pwd; echo e >&2; exit 4", shell=True, cwd="/tmp",
                                         env={"A": "1"}))
    assert (done.stdout, done.stderr, done.exit_code) == ("1\n/tmp\n", "e\n", 4), done
    merged = await runtime.execute(Command(command="echo o; echo e >&2", shell=True, merge_output_streams=True))
    assert (merged.stdout, merged.stderr) == ("o\ne\n", ""), merged
    with raises(exceptions.CommandTimeoutError):
        await runtime.execute(Command(command=["sleep", "1000"], timeout=0.2))
    with raises(exceptions.NonZeroExitCodeError):
        await runtime.execute(Command(command=["false"], check=True))
    await runtime.write_file(WriteFileRequest(path="/tmp/new/a.txt", content="é"))
    assert (await runtime.read_file(ReadFileRequest(path="/tmp/new/a.txt"))).content == "é"
    assert (await runtime.read_file(ReadFileRequest(path="/tmp/new/a.txt", encoding="ascii", errors="replace"))).content
    with raises(FileNotFoundError):
        await runtime.read_file(ReadFileRequest(path="/tmp/none"))
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "sub").mkdir()
        Path(folder, "sub", "b.txt").write_text("b")
        await runtime.upload(UploadRequest(source_path=folder, target_path="/tmp/up"))
        await runtime.upload(UploadRequest(source_path=f"{folder}/sub/b.txt", target_path="/tmp/c.txt"))
    assert (await runtime.execute(Command(command="cat /tmp/up/sub/b.txt /tmp/c.txt", shell=True))).stdout == "bb"


async def main() -> None:
    async with deployed() as runtime:
        await sessions(runtime)
        await programs_and_files(runtime)
    with raises(ValueError, "image"):
        ClocheDeployment(image="python:3.12")


asyncio.run(main())
