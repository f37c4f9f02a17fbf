# SPDX-License-Identifier: Apache-2.0
"""What a program for E2B does with its Python client. It knows nothing of this server."""
import asyncio
import os
import urllib.request

from e2b import (AsyncSandbox, CommandExitException, FileNotFoundException, PtySize, Sandbox, SandboxNotFoundException,
                 SandboxQuery, SandboxState, TimeoutException)


def commands(sandbox):
    seen = []
    result = sandbox.commands.run("echo $GREETING; pwd; echo err >&2", on_stdout=seen.append)
    assert (result.stdout, result.stderr, result.exit_code) == ("hello\n/home/user\n", "err\n", 0), result
    assert "".join(seen) == "hello\n/home/user\n"
    assert sandbox.commands.run("id -un", user="root").stdout == "root\n"
    assert sandbox.commands.run("pwd; echo $A", cwd="/tmp", envs={"A": "b"}).stdout == "/tmp\nb\n"
    try:
        sandbox.commands.run("echo no >&2; exit 4")
        raise AssertionError("no exception")
    except CommandExitException as problem:
        assert (problem.exit_code, problem.stderr) == (4, "no\n")
    try:
        sandbox.commands.run("sleep 100", timeout=1)
        raise AssertionError("no exception")
    except TimeoutException:
        pass
    handle = sandbox.commands.run("while read line; do echo got $line; done", background=True, stdin=True)
    sandbox.commands.send_stdin(handle.pid, "one\ntwo\n")
    assert handle.pid in [each.pid for each in sandbox.commands.list()]
    again = sandbox.commands.connect(handle.pid)
    sandbox.commands.send_stdin(handle.pid, "three\n")
    out = ""
    for stdout, _, _ in again:
        out += stdout or ""
        if "three" in out:
            break
    assert out.endswith("got three\n"), out
    assert sandbox.commands.kill(handle.pid) is True
    try:
        handle.wait()
        raise AssertionError("no exception")
    except CommandExitException as problem:
        assert problem.exit_code == -1
    assert sandbox.commands.kill(handle.pid) is False


def terminal(sandbox):
    handle = sandbox.pty.create(PtySize(rows=30, cols=100))
    sandbox.pty.send_stdin(handle.pid, b"stty size; exit 7\n")
    shown = b""
    try:
        handle.wait(on_pty=lambda data: globals().__setitem__("SHOWN", globals().get("SHOWN", b"") + data))
    except CommandExitException as problem:
        assert problem.exit_code == 7
    shown = globals()["SHOWN"]
    assert b"30 100" in shown, shown


def files(sandbox):
    info = sandbox.files.write("deep/er/f.txt", "text")
    assert info.path == "/home/user/deep/er/f.txt"
    assert sandbox.files.read("deep/er/f.txt") == "text"
    assert sandbox.files.read("deep/er/f.txt", format="bytes") == b"text"
    sandbox.files.write_files([{"path": "a", "data": b"\x00\xff"}, {"path": "/tmp/b", "data": "b"}])
    assert bytes(sandbox.files.read("a", format="bytes")) == b"\x00\xff"
    assert sandbox.files.exists("/tmp/b") and not sandbox.files.exists("/tmp/c")
    assert [each.name for each in sandbox.files.list("deep", depth=2)] == ["er", "f.txt"]
    assert sandbox.files.make_dir("new") is True and sandbox.files.make_dir("new") is False
    assert sandbox.files.rename("a", "new/a").path == "/home/user/new/a"
    assert sandbox.files.get_info("new/a").size == 2
    sandbox.files.remove("new")
    try:
        sandbox.files.read("new/a")
        raise AssertionError("no exception")
    except FileNotFoundException:
        pass
    large = bytes(range(256)) * 20000
    sandbox.files.write("large", large)
    assert bytes(sandbox.files.read("large", format="bytes")) == large
    assert urllib.request.urlopen(sandbox.download_url("deep/er/f.txt")).read() == b"text"


def lives(sandbox):
    assert sandbox.is_running()
    assert sandbox.get_info().metadata == {"of": "a test"}
    sandbox.set_timeout(200)
    assert sandbox.get_metrics()[0].mem_total > 0
    found = Sandbox.list(query=SandboxQuery(metadata={"of": "a test"}, state=[SandboxState.RUNNING])).next_items()
    assert [each.sandbox_id for each in found] == [sandbox.sandbox_id]
    sandbox.pause()
    assert sandbox.get_info().state == SandboxState.PAUSED
    sandbox.connect()
    assert sandbox.files.read("deep/er/f.txt") == "text"
    snapshot = sandbox.create_snapshot()
    with Sandbox.create(snapshot.snapshot_id) as twin:
        assert twin.files.read("deep/er/f.txt") == "text"
    assert sandbox.kill() is True and sandbox.kill() is False
    try:
        Sandbox.connect(sandbox.sandbox_id)
        raise AssertionError("no exception")
    except SandboxNotFoundException:
        pass


async def asynchronous():
    sandbox = await AsyncSandbox.create()
    results = await asyncio.gather(*(sandbox.commands.run(f"echo {i}") for i in range(5)))
    assert [each.stdout for each in results] == [f"{i}\n" for i in range(5)]
    await sandbox.kill()


def main():
    sandbox = Sandbox.create(timeout=120, metadata={"of": "a test"}, envs={"GREETING": "hello"})
    commands(sandbox)
    terminal(sandbox)
    files(sandbox)
    lives(sandbox)
    asyncio.run(asynchronous())


main()
print("done", flush=True)
# A thread of pyqwest, the HTTP library of the client, now and then aborts the interpreter on its way out.
os._exit(0)
