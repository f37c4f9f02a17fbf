# SPDX-License-Identifier: Apache-2.0
"""What a program for E2B does in a template that is an image of the linux engine. It knows nothing of this server."""
import os
import sys
import time
import urllib.error
import urllib.request

from e2b import CommandExitException, NotFoundException, PtySize, Sandbox, SandboxException, TimeoutException
from e2b_code_interpreter import Sandbox as CodeInterpreter


def fails(kind, attempt):
    try:
        attempt()
    except kind as problem:
        return problem
    raise AssertionError("no exception")


def commands(sandbox):
    result = sandbox.commands.run("echo $GREETING; pwd; id -u; echo $HOME $USER; echo err >&2")
    assert (result.stdout, result.stderr) == ("hello\n/home/user\n0\n/home/user user\n", "err\n"), result
    assert sandbox.commands.run("id -u; pwd; echo $HOME $USER", user="root").stdout == "0\n/root\n/root root\n"
    assert sandbox.commands.run("sudo -u user id -u").stdout == "0\n"
    sandbox.commands.run("echo of user > f; chown user:user f; touch /usr/new", user="root")
    assert sandbox.commands.run("cat /mounted/data").stdout == "of the host"
    assert fails(CommandExitException, lambda: sandbox.commands.run("exit 4")).exit_code == 4
    fails(TimeoutException, lambda: sandbox.commands.run("sleep 100", timeout=1))
    handle = sandbox.commands.run("echo $$; while read line; do echo got $line; done", background=True, stdin=True)
    sandbox.commands.send_stdin(handle.pid, "one\n")
    assert handle.pid in [each.pid for each in sandbox.commands.list()]
    out = ""
    for stdout, _, _ in handle:
        out += stdout or ""
        if "one" in out:
            break
    assert out == f"{handle.pid}\ngot one\n", out
    assert sandbox.commands.kill(handle.pid) is True
    assert fails(CommandExitException, handle.wait).exit_code == -1
    assert sandbox.commands.kill(handle.pid) is False
    shown = []
    terminal = sandbox.pty.create(PtySize(rows=30, cols=100))
    sandbox.pty.send_stdin(terminal.pid, b"stty size; exit 7\n")
    assert fails(CommandExitException, lambda: terminal.wait(on_pty=shown.append)).exit_code == 7
    assert b"30 100" in b"".join(shown), shown


def files(sandbox):
    assert sandbox.files.write("deep/er/f.txt", "text").path == "/home/user/deep/er/f.txt"
    assert sandbox.files.read("deep/er/f.txt") == "text"
    large = bytes(range(256)) * 8000
    sandbox.files.write("large", large)
    assert bytes(sandbox.files.read("large", format="bytes")) == large
    assert [each.name for each in sandbox.files.list("deep", depth=2)] == ["er", "f.txt"]
    assert sandbox.files.make_dir("new") is True and sandbox.files.make_dir("new") is False
    assert sandbox.files.rename("deep/er/f.txt", "new/a").path == "/home/user/new/a"
    assert sandbox.files.exists("new/a") and not sandbox.files.exists("deep/er/f.txt")
    fails(NotFoundException, lambda: sandbox.files.read("nothing"))


def lives(sandbox):
    handle = sandbox.commands.run("while [ ! -e go ]; do sleep 0.01; done; echo went", background=True)
    sandbox.pause()
    sandbox.connect()
    again = sandbox.commands.connect(handle.pid)  # streams end with a pause, processes do not
    sandbox.files.write("go", "")
    assert again.wait().stdout == "went\n"
    snapshot = sandbox.create_snapshot()
    with Sandbox.create(snapshot.snapshot_id) as twin:
        assert twin.files.read("new/a") == "text"
        twin.files.write("new/a", "other")
    assert sandbox.files.read("new/a") == "text"


def ports(sandbox):
    request = urllib.request.Request(os.environ["E2B_API_URL"] + "/served", headers={
        "E2b-Sandbox-Id": sandbox.sandbox_id, "E2b-Sandbox-Port": "8000"})
    answer = fails(urllib.error.HTTPError, lambda: urllib.request.urlopen(request))
    assert answer.code == 502 and b"port is not open" in answer.read()
    sandbox.files.write("served", "by a server inside")
    server = sandbox.commands.run("echo begun; exec python3 -m http.server 8000", background=True)
    for attempt in range(1000):
        try:
            assert urllib.request.urlopen(request).read() == b"by a server inside"
            break
        except urllib.error.HTTPError as not_yet:
            assert not_yet.code == 502
            time.sleep(0.02)
    else:
        raise AssertionError("nobody listens")
    server.kill()


def what_is_not_there(sandbox):
    assert "UNIMPLEMENTED" in str(fails(SandboxException, lambda: sandbox.files.watch_dir("new"))).upper()
    assert "template 'other' was not found" in str(fails(SandboxException, lambda: Sandbox.create("other")))


def cells():
    with CodeInterpreter.create("small") as box:
        assert box.run_code("import os; print(os.getcwd()); x = 5").logs.stdout == ["/home/user\n"]
        assert box.run_code("x + 1").text == "6"
        assert box.run_code("1 / 0").error.name == "ZeroDivisionError"
        assert box.run_code("!echo hi").logs.stdout == ["hi\n"]
        fails(TimeoutException, lambda: box.run_code("while True: pass", timeout=1))
        assert box.run_code("x").text == "5"
        assert box.run_code("echo $HOME", language="bash").logs.stdout == ["/home/user\n"]


sandbox = Sandbox.create("small", timeout=300, envs={"GREETING": "hello"})
assert sandbox.get_info().template_id == "small"
commands(sandbox)
files(sandbox)
lives(sandbox)
what_is_not_there(sandbox)
assert sandbox.kill() is True
if "--python" in sys.argv:
    with Sandbox.create("small") as served:
        ports(served)
    cells()
with Sandbox.create() as usual:  # the others are what they are
    assert usual.commands.run("id -u").stdout == "1000\n"
print("done", flush=True)
# A thread of pyqwest, the HTTP library of the client, now and then aborts the interpreter on its way out.
os._exit(0)
