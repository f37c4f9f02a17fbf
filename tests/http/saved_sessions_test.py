# SPDX-License-Identifier: Apache-2.0
"""Sessions that survive the server (--state-dir): what comes back, what is told, what costs nothing."""
import base64
import hashlib
import io
import json
import os
import re
import resource
import tarfile
import tempfile
import unittest
from pathlib import Path

from server import Server, until
from websocket import Rpc

TOKEN = "test-token-one"


def format_1(session: str, files: dict) -> bytes:
    """A session as it was saved before the first release: a digest of all, a line of facts, the state as a tar archive."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    state = b"cloche sandbox state 1\n" + json.dumps({"environment": {"A": "b"}, "packages": []}).encode() + b"\n" + archive.getvalue()
    facts = {"created_ms": 0, "expires_ms": None, "format": 1, "id": session, "image": "", "metadata": "{}", "owner": "",
             "paused": False, "ssh_public_key": ""}
    rest = json.dumps(facts, separators=(",", ":")).encode() + b"\n" + state + hashlib.sha256(state).digest()
    return hashlib.sha256(rest).digest() + rest


class Survival(unittest.TestCase):
    def test_sessions_survive_the_server(self):
        for end in ["kill", "stop"]:
            with tempfile.TemporaryDirectory() as folder:
                words = ["serve", "--token", TOKEN, "--state-dir", folder + "/state"]
                with Server(*words) as server:
                    ask = lambda *args: server.json(*args, token=TOKEN)
                    session = ask("POST", "/sessions", {"metadata": {"a": 1}})[1]
                    path = "/sessions/" + session["sessionId"]
                    fresh = ask("POST", "/sessions")[1]["sessionId"]
                    gone = ask("POST", "/sessions")[1]["sessionId"]
                    ask("DELETE", "/sessions/" + gone)
                    got = ask("POST", path + "/commands",
                              {"command": "mkdir d; echo kept > d/f; chmod 600 d/f"})
                    self.assertEqual(got[1]["exitCode"], 0)
                    self.assertEqual(server.ask("POST", path + "/files?path=g", b"up", token=TOKEN)[0],
                                     201)
                    paused = ask("POST", "/sessions")[1]["sessionId"]
                    ask("POST", f"/sessions/{paused}/pause")
                    if end == "kill":
                        server.process.kill()
                        server.process.wait()
                Path(folder, "state", "damaged.session").write_bytes(b"torn")
                with Server(*words) as server:
                    ids = [s["sessionId"] for s in ask("GET", "/sessions")[1]["sessions"]]
                    self.assertEqual(ids, [paused, fresh, session["sessionId"]])
                    again = ask("GET", path)[1]
                    for name in ["createdAt", "expiresAt", "metadata", "status"]:
                        self.assertEqual(again[name], session[name])
                    self.assertEqual(
                        ask("POST", path + "/commands",
                            {"command": "cat d/f g; stat -c %a d/f"})[1]["stdout"],
                        "kept\nup600\n")
                    self.assertEqual(ask("GET", "/sessions/" + paused)[1]["status"], "paused")
                    self.assertIn("damaged.session", server.log())
                    ask("DELETE", path)
                    self.assertEqual(sorted(p.suffix for p in Path(folder, "state").iterdir() if p.suffix != ".changes"),
                                     ["", ".damaged", ".session", ".session"])  # the first is the lock

    def start(self, *more):
        return Server("serve", "--state-dir", self.folder.name, *more)

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def command(self, server, session, text):
        return server.json("POST", f"/sessions/{session}/commands", {"command": text})

    def killed(self, server):
        server.process.kill()
        server.process.wait()

    def figure(self, server, name):
        page = server.ask("GET", "/metrics")[2].decode()
        return float(re.search(rf"^{re.escape(name)} (\S+)$", page, re.M)[1])

    def test_what_ends_beside_requests_survives_a_kill(self):
        with self.start() as server:
            with Rpc(server.port) as rpc:
                sessions = [rpc.call("sandbox.create") for _ in range(2)]
                command = rpc.call("command.start", sandboxId=sessions[0]["sandboxId"], script="echo of a command > done")["command"]
                self.assertEqual(rpc.notice("command.exit", command=command)["exitCode"], 0)
                terminal = rpc.call("terminal.open", sandboxId=sessions[1]["sandboxId"],
                                    command="echo of a terminal > done")["terminal"]
                self.assertEqual(rpc.notice("terminal.exit", terminal=terminal)["exitCode"], 0)
                self.killed(server)
        with self.start() as server:
            for session, what in zip(sessions, (b"of a command\n", b"of a terminal\n")):
                self.assertEqual(server.ask("GET", f"/sessions/{session['sessionId']}/files?filePath=done")[2], what)

    def test_every_kind_of_file_survives_a_kill(self):
        make = ("echo secret > f; chmod 0 f; truncate -s 1G sparse; printf x | dd of=sparse bs=1 seek=900M conv=notrunc 2>/dev/null; "
                "ln f g; ln -s nowhere l; mkfifo p; touch -d '2001-02-03 04:05:06' f; setfattr -n user.a -v b sparse 2>/dev/null; touch -h -d '2002-03-04 05:06:07' l p sparse; "
                "p=$(printf 'deep/%.0s' {1..600}); for i in 1 2 3; do mkdir -p $p; cd $p; done 2>/dev/null; echo ground > file")
        look = ("stat -c '%n %a %s %h %Y %F' f g l p sparse; du -k sparse | cut -f1; tail -c +943718401 sparse | head -c 1; "
                "chmod 600 f; cat g; p=$(printf 'deep/%.0s' {1..600}); for i in 1 2 3; do cd $p; done 2>/dev/null; cat file")
        with self.start() as server:
            session = server.json("POST", "/sessions")[1]["sessionId"]
            twin = server.json("POST", "/sessions")[1]["sessionId"]
            for one in [session, twin]:
                self.assertEqual(self.command(server, one, make)[0], 200)
            there = self.command(server, twin, look)[1]["stdout"]
            self.assertIn("secret\nground\n", there)
            self.killed(server)
        self.assertLess(sum(p.stat().st_size for p in Path(self.folder.name).iterdir()), 10_000_000)
        with self.start() as server:
            self.assertEqual(self.command(server, session, look)[1]["stdout"], there)

    def test_what_cannot_be_saved_is_told(self):
        with self.start() as server:
            session = server.json("POST", "/sessions")[1]["sessionId"]
            self.assertEqual(server.json("GET", "/ready"), (200, {"status": "ready"}))
            usual = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
            resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (1 << 20, usual[1]))
            status, body = self.command(server, session, "head -c 3000000 /dev/urandom > f; echo done")
            self.assertEqual((status, body["error"]), (507, "INTERNAL_ERROR"))
            self.assertEqual(body["details"]["errno"], "ENOSPC")
            self.assertEqual(body["details"]["answer"]["stdout"], "done\n")
            status, body = server.json("GET", "/ready")
            self.assertEqual((status, body["status"]), (503, "not ready"))
            self.assertIn(session, body["reason"])
            self.assertEqual(server.ask("GET", "/health")[0], 200)
            self.assertGreaterEqual(self.figure(server, 'cloche_saves_total{result="failed"}'), 1)
            self.assertEqual(self.figure(server, "cloche_unsaved_sessions"), 1)
            self.assertIn("is not saved: No space left on device", server.log())
            resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, usual)
            until(lambda: server.ask("GET", "/ready")[0] == 200, "it is saved after all")
            self.killed(server)
        with self.start() as server:
            self.assertEqual(self.command(server, session, "stat -c %s f")[1]["stdout"], "3000000\n")

    def test_nothing_is_written_where_nothing_changes(self):
        with self.start() as server:
            session = server.json("POST", "/sessions")[1]["sessionId"]
            self.command(server, session, "head -c 5000000 /dev/urandom > big; echo 1 > small")
            before = self.figure(server, "cloche_save_bytes_total")
            self.command(server, session, "cat big small | wc -c")
            self.assertEqual(self.figure(server, "cloche_save_bytes_total"), before)
            self.command(server, session, "echo 2 > small")
            self.assertLess(self.figure(server, "cloche_save_bytes_total"), before + 20_000)
            self.killed(server)
        with self.start() as server:
            self.assertEqual(self.command(server, session, "cat small; wc -c < big")[1]["stdout"], "2\n5000000\n")

    def test_a_folder_has_one_server(self):
        with self.start() as server:
            with self.assertRaisesRegex(RuntimeError, "another server keeps its sessions in"):
                self.start()
            session = server.json("POST", "/sessions")[1]["sessionId"]
            Path(self.folder.name, "lock").write_text("generation 9 of another server\n")
            status, body = self.command(server, session, "echo x > f")
            self.assertEqual((status, body["details"]["errno"]), (500, "ESTALE"))
            self.assertIn("another server has taken", server.json("GET", "/ready")[1]["reason"])

    def test_what_lies_in_the_folder_stops_nobody(self):
        with self.start() as server:
            good, bad = (server.json("POST", "/sessions")[1]["sessionId"] for _ in range(2))
            for session in [good, bad]:
                self.command(server, session, "echo kept > f")
        folder = Path(self.folder.name)
        os.mkfifo(folder / "fifo.session")
        (folder / "folder.session").mkdir()
        damaged = bytearray((folder / f"{bad}.session").read_bytes())
        damaged[-40] ^= 1
        (folder / f"{bad}.session").write_bytes(damaged)
        with self.start() as server:
            self.assertEqual(self.command(server, good, "cat f")[1]["stdout"], "kept\n")
            for _ in range(2):
                status, body = self.command(server, bad, "cat f")
                self.assertEqual((status, body["error"]), (500, "INTERNAL_ERROR"))
                self.assertIn("damaged", body["message"])
            self.assertTrue((folder / f"{bad}.session.damaged").exists())
            self.assertIn("fifo.session in the state folder is no file", server.log())
        with self.start() as server:
            self.assertEqual(self.command(server, bad, "cat f")[0], 500)
            self.assertEqual(self.command(server, good, "cat f")[1]["stdout"], "kept\n")

    def test_that_processes_are_gone_is_told_once(self):
        with self.start() as server:
            session = server.json("POST", "/sessions")[1]["sessionId"]
            path = f"/sessions/{session}"
            _, headers, _ = server.ask("POST", path + "/commands", {"command": "sleep 1000 & echo x > f"})
            self.assertIsNone(headers["X-Cloche-Restarted"])
            paused = server.json("POST", "/sessions")[1]["sessionId"]
            server.ask("POST", f"/sessions/{paused}/pause")
            self.killed(server)
        with self.start() as server:
            self.assertIsNone(server.ask("GET", path)[1]["X-Cloche-Restarted"])
            told = [server.ask("GET", path + "/files?filePath=f")[1]["X-Cloche-Restarted"] for _ in range(2)]
            self.assertEqual(told, ["true", None])
            # One that was paused had no processes.
            server.ask("POST", f"/sessions/{paused}/resume")
            self.assertIsNone(server.ask("POST", f"/sessions/{paused}/commands", {"command": "true"})[1]["X-Cloche-Restarted"])

    def python_files(self):
        return sorted(p.name for p in Path(self.folder.name).iterdir() if ".python" in p.name)

    def rpc(self, server, session):
        rpc = Rpc(server.port)
        self.addCleanup(rpc.socket.close)
        rpc.call("create", sessionId=session)
        return rpc

    def paused_with_state(self, server):
        rpc = Rpc(server.port)
        self.addCleanup(rpc.socket.close)
        session = rpc.call("create", ttl=3600)["sessionId"]
        rpc.call("python.execute", code="import array, json, os\nx = {'a': [1, 2]}\nmany = array.array('q', range(100000))\n"
                 "def f(n): return n * 2\nos.mkdir('/tmp/of-python')\nos.chdir('/tmp/of-python')")
        rpc.call("run", command="mkdir -p d; cd d; v='two words'; export W=$'\\xff\\n'; list=(a 'b c'); declare -A map=([k]=v); "
                 "declare -ri seven=7\nshopt -s extglob\ng() { case $1 in +(z)) echo zs;; *) echo \"g:$1\";; esac; }; "
                 "alias ll='echo long'; set -- p 'q r'; umask 027; trap 'echo bye' USR1; IFS=:; set -euv; ulimit -S -n 99")
        rpc.call("session.pause", sessionId=session)
        return rpc, session

    SHELL = ("echo \"$PWD|$v|${list[1]}|${map[k]}|$seven|$2|$(umask)|$IFS|$(ulimit -n)|$-\"; g zzz; g 1; printf %s \"$W\" | od -An -tx1; "
             "trap -p USR1; alias ll; (: ${not_there}) 2>&1 | grep -c unbound; (seven=8) 2>/dev/null || echo readonly")
    SHELL_SAYS = ("/workspace/d|two words|b c|v|7|q r|0027|:|99|%s\nzs\ng:1\n ff 0a\ntrap -- 'echo bye' SIGUSR1\nalias ll='echo long'\n1\nreadonly\n")
    PYTHON = "json.dumps(x), f(4), sum(many), os.getcwd()"
    PYTHON_SAYS = """('{"a": [1, 2]}', 8, 4999950000, '/tmp/of-python')"""

    def test_a_paused_session_has_its_live_python_and_shell_after_a_restart(self):
        with self.start() as server:
            rpc, session = self.paused_with_state(server)
            files = self.python_files()
            self.assertEqual([name.split(".")[0] for name in files], [session])
            bytes_saved = self.figure(server, "cloche_save_bytes_total")
            rpc.call("session.resume", sessionId=session)
            rpc.call("session.pause", sessionId=session)
            # Nothing was executed: the file is still the one, and little is written.
            self.assertEqual(self.python_files(), files)
            self.assertLess(self.figure(server, "cloche_save_bytes_total"), bytes_saved + 20_000)
            self.killed(server)
        for _ in range(2):  # resumed and not used, then killed again: it is all there
            with self.start() as server:
                server.ask("POST", f"/sessions/{session}/resume")
                self.killed(server)
        with self.start() as server:
            rpc = self.rpc(server, session)
            self.assertEqual(rpc.call("python.execute", code=self.PYTHON)["result"], self.PYTHON_SAYS)
            flags = rpc.call("run", command="echo $-")["stdout"].strip()
            self.assertLessEqual(set("euv"), set(flags))
            self.assertEqual(rpc.call("run", command=self.SHELL)["stdout"], self.SHELL_SAYS % flags)
            self.assertEqual(self.figure(server, 'cloche_live_pythons_total{result="restored"}'), 1)
            # What has been used since is as it was when it was paused last, or begins anew.
            rpc.call("python.execute", code="x['b'] = f(21)")
            rpc.call("run", command="v=changed")
            self.assertEqual(self.python_files(), [])
            rpc.call("session.pause", sessionId=session)
            self.assertEqual(len(self.python_files()), 1)
        with self.start() as server:
            server.ask("POST", f"/sessions/{session}/resume")
            rpc = self.rpc(server, session)
            self.assertEqual(rpc.call("python.execute", code="json.dumps(x)")["result"], "'" + '{"a": [1, 2], "b": 42}' + "'")
            self.assertEqual(rpc.call("run", command="echo $v")["stdout"], "changed\n")
            rpc.call("session.pause", sessionId=session)
            rpc.call("session.delete", sessionId=session)
            self.assertEqual(self.python_files(), [])

    def test_a_live_python_that_cannot_be_read_leaves_the_files(self):
        def damage(path):
            content = bytearray(path.read_bytes())
            content[-1000] ^= 1
            path.write_bytes(content)
        changes = [damage, lambda path: path.write_bytes(b""), lambda path: path.write_bytes(path.read_bytes()[:70_000]),
                   lambda path: path.write_bytes(b"cloche-image 9\n" + bytes(70_000)),
                   lambda path: path.write_bytes(re.sub(rb'"library":"..', b'"library":"zz', path.read_bytes(), count=1)),
                   Path.unlink, lambda path: (path.unlink(), path.mkdir())]
        with self.start() as server:
            sessions = [self.paused_with_state(server)[1] for _ in changes]
            self.killed(server)
        by_session = {name.split(".")[0]: Path(self.folder.name, name) for name in self.python_files()}
        for session, change in zip(sessions, changes):
            change(by_session[session])
        left_over = [Path(self.folder.name, f"{sessions[0]}.{name}") for name in ["0123.python", "0123.python.7.memory", "0123.python.7.part"]]
        for path in left_over:
            path.write_bytes(b"of a server that was killed")
        with self.start() as server:
            self.assertEqual([path for path in left_over if path.exists()], [])
            for session in sessions:
                server.ask("POST", f"/sessions/{session}/resume")
                rpc = self.rpc(server, session)
                self.assertEqual(rpc.call("python.execute", code="'x' in globals()")["result"], "False")
                self.assertEqual(rpc.call("run", command="echo $v; ls -d /tmp/of-python")["stdout"], "two words\n/tmp/of-python\n")
                self.assertIn(f"session {session} goes on with a fresh Python, and its files: ", server.log())
            self.assertIn("is damaged (its checksum is wrong)", server.log())
            self.assertIn("is of another build of Cloche", server.log())
            self.assertEqual(self.figure(server, 'cloche_live_pythons_total{result="dropped"}'), len(changes))

    def test_a_live_python_that_cannot_be_saved_is_told(self):
        with self.start() as server:
            rpc = Rpc(server.port)
            self.addCleanup(rpc.socket.close)
            session = rpc.call("create", ttl=3600)["sessionId"]
            rpc.call("python.execute", code="x = 1")
            Path(self.folder.name, "lock").write_text("generation 9 of another server\n")
            status, body = server.json("POST", f"/sessions/{session}/pause")
            self.assertEqual((status, body["details"]["errno"]), (500, "ESTALE"))
            self.assertEqual(server.ask("GET", "/ready")[0], 503)
            self.assertEqual(self.python_files(), [])  # nothing is written to what is another's
            self.assertEqual(self.figure(server, 'cloche_live_pythons_total{result="saved"}'), 0)

    def test_a_shell_that_does_not_say_what_it_is_keeps_nobody(self):
        with self.start() as server:
            rpc = Rpc(server.port)
            self.addCleanup(rpc.socket.close)
            session = rpc.call("create", ttl=3600)["sessionId"]
            rpc.call("run", command="echo kept > f; big=$(head -c 5000000 /dev/zero | tr '\\0' x)")
            self.assertEqual(server.json("POST", f"/sessions/{session}/pause")[0], 200)
            self.assertIn(f"the kept shell of session {session} is not saved: File too large", server.log())
            self.killed(server)
        with self.start() as server:
            server.ask("POST", f"/sessions/{session}/resume")
            self.assertEqual(self.rpc(server, session).call("run", command="cat f; echo ${big-none}")["stdout"], "kept\nnone\n")

    def test_saved_states_of_every_release_open(self):
        kept = Path(__file__).parent / "saved_states"
        states = {p.name.removesuffix(".base64"): base64.b64decode(p.read_text()) for p in kept.glob("*.base64")}
        self.assertIn("0.1.0", states)
        states["before 0.1.0"] = format_1("6d0c2f4e-9a51-4c3b-8d27-5b1e0f3a7c99", {"workspace/f": b"old\n", "tmp/t": b"\0\xff"})
        ids = {}
        for release, state in states.items():
            ids[release] = re.search(rb'"id":"([0-9a-f-]+)"', state)[1].decode()
            Path(self.folder.name, ids[release] + ".session").write_bytes(state)
        with self.start() as server:
            self.assertEqual({s["sessionId"] for s in server.json("GET", "/sessions")[1]["sessions"]}, set(ids.values()))
            self.assertEqual(self.command(server, ids["before 0.1.0"], "cat f; od -An -tx1 /tmp/t")[1]["stdout"], "old\n 00 ff\n")
            self.assertEqual(self.command(server, ids["0.1.0"], "cat f; readlink l; stat -c '%a %h' d/g; cat d/h; du -k sparse | cut -f1; wc -c < sparse")[1]["stdout"],
                             "kept\nnowhere\n640 2\nlinked\n1\n1000001\n")
            for one in ids.values():
                self.command(server, one, "echo new > n")
            self.killed(server)
        with self.start() as server:
            for one in ids.values():
                self.assertEqual(self.command(server, one, "cat n; test -s f")[1]["stdout"], "new\n")

    def test_when_is_said_by_an_option(self):
        with self.start("--save", "pause") as server:
            session = server.json("POST", "/sessions")[1]["sessionId"]
            self.command(server, session, "echo paused > f")
            server.json("POST", f"/sessions/{session}/pause")
            server.json("POST", f"/sessions/{session}/resume")
            self.command(server, session, "echo lost > f")
            self.killed(server)
        with self.start("--save", "1") as server:
            self.assertEqual(self.command(server, session, "cat f; echo later > f")[1]["stdout"], "paused\n")
            until(lambda: self.figure(server, 'cloche_saves_total{result="saved"}') >= 1, "the interval is over")
            self.killed(server)
        with self.start() as server:
            self.assertEqual(self.command(server, session, "cat f")[1]["stdout"], "later\n")


if __name__ == "__main__":
    unittest.main()
