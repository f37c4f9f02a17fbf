# SPDX-License-Identifier: Apache-2.0
"""What a program for E2B does with its Python client. It knows nothing of this server."""
import asyncio
import os
import time
import urllib.error
import urllib.request

from e2b import (AsyncSandbox, CommandExitException, FileNotFoundException, PtySize, Sandbox, SandboxException, SandboxNotFoundException,
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


def until(condition):
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline, "it does not come"
        time.sleep(0.01)


def watching(sandbox):
    sandbox.files.make_dir("watched/sub")
    flat = sandbox.files.watch_dir("watched")
    deep = sandbox.files.watch_dir("watched", recursive=True, include_entry=True)
    sandbox.commands.run("cd watched; echo a > f; chmod 600 f; mv f g; rm g; echo b > sub/h")
    told = [(each.name, each.type.name) for each in flat.get_new_events()]
    assert told == [("f", "CREATE"), ("f", "WRITE"), ("f", "CHMOD"), ("f", "RENAME"), ("g", "CREATE"),
                    ("g", "REMOVE")], told
    below = [each for each in deep.get_new_events() if each.name == "sub/h"]
    assert [each.type.name for each in below] == ["CREATE", "WRITE"], below
    assert below[1].entry.path == "/home/user/watched/sub/h" and below[1].entry.size == 2, below
    assert flat.get_new_events() == []
    flat.stop()
    deep.stop()
    try:
        sandbox.files.watch_dir("nonesuch")
        raise AssertionError("no exception")
    except FileNotFoundException:
        pass


def servers(sandbox):
    sandbox.files.write("site/page", "from inside")
    sandbox.commands.run("cd site && python3 -m http.server 8123", background=True)
    # Names below the domain are not this machine's here.
    page = urllib.request.Request(os.environ["E2B_SANDBOX_URL"] + "/page", headers={"Host": sandbox.get_host(8123)})

    def is_there():
        try:
            with urllib.request.urlopen(page) as answer:
                return answer.read() == b"from inside"
        except urllib.error.HTTPError as problem:
            assert problem.code == 502 and b"port is not open" in problem.read()
            return False
    until(is_there)


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


def network():
    sandbox = Sandbox.create(network={"allow_out": ["a.example.com"], "deny_out": lambda asked: [asked.all_traffic]})
    assert sandbox.get_info().network["allow_out"] == ["a.example.com"], sandbox.get_info()
    sandbox.update_network({"allow_out": ["b.example.com"]})
    assert sandbox.get_info().network["allow_out"] == ["b.example.com"], sandbox.get_info()
    for attempt in [lambda: sandbox.update_network({"allow_out": ["10.0.0.1"]}),
                    lambda: Sandbox.create(network={"allow_out": ["0.0.0.0/0"]})]:
        try:
            attempt()
            raise AssertionError("no exception")
        except SandboxException as problem:
            assert "--allow-session-net" in str(problem), problem
    sandbox.kill()


async def asynchronous():
    sandbox = await AsyncSandbox.create()
    results = await asyncio.gather(*(sandbox.commands.run(f"echo {i}") for i in range(5)))
    assert [each.stdout for each in results] == [f"{i}\n" for i in range(5)]
    seen, ended = [], []
    await sandbox.files.make_dir("watched")
    watch = await sandbox.files.watch_dir("watched", seen.append, ended.append, recursive=True)
    await sandbox.commands.run("mkdir watched/new && echo a > watched/new/f")
    while ("new/f", "WRITE") not in [(each.name, each.type.name) for each in seen]:
        await asyncio.sleep(0.01)
    await watch.stop()
    until(lambda: ended == [None])
    again = await sandbox.files.watch_dir("watched", seen.append, ended.append)
    await sandbox.kill()
    while len(ended) < 2:
        await asyncio.sleep(0.01)
    assert ended[1] is not None and again is not None, ended


def main():
    sandbox = Sandbox.create(timeout=120, metadata={"of": "a test"}, envs={"GREETING": "hello"})
    commands(sandbox)
    terminal(sandbox)
    files(sandbox)
    watching(sandbox)
    servers(sandbox)
    lives(sandbox)
    network()
    asyncio.run(asynchronous())


main()
print("done", flush=True)
# A thread of pyqwest, the HTTP library of the client, now and then aborts the interpreter on its way out.
os._exit(0)
