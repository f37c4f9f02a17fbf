"""REST sessions, the tunnel, SSH and SFTP (contract 4) against real clients: OpenSSH's and our SDK's."""
import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

from server import PATIENCE_S, Server, until

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "sdk" / "python" / "src"))
TOKEN, OTHER = "test-token-one", "test-token-two"

# An OpenSSH ProxyCommand: CONNECT, then bytes both ways.
PROXY = """
import os, socket, sys, threading
port, session, token = sys.argv[1:]
s = socket.create_connection(("127.0.0.1", int(port)))
s.sendall(f"CONNECT /v1/sessions/{session}/tunnel HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\n"
          f"Proxy-Authorization: Bearer {token}\\r\\n\\r\\n".encode())
head = b""
while not head.endswith(b"\\r\\n\\r\\n"):
    head += s.recv(1)
assert b" 200 " in head, head
def up():
    while data := os.read(0, 65536):
        s.sendall(data)
    s.shutdown(socket.SHUT_WR)
threading.Thread(target=up, daemon=True).start()
while data := s.recv(65536):
    while data:
        data = data[os.write(1, data):]
"""


class Sessions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("serve", "--token", TOKEN, "--token", OTHER, ssh=True)
        cls.folder = tempfile.TemporaryDirectory()
        cls.key = cls.folder.name + "/key"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", cls.key], check=True)
        cls.public_key = Path(cls.key + ".pub").read_text().strip()
        Path(cls.folder.name, "proxy.py").write_text(PROXY)

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop() == 0
        cls.folder.cleanup()

    def ask(self, *args, token=TOKEN, **kwargs):
        return self.server.json(*args, token=token, **kwargs)

    def create(self, **body) -> str:
        status, session = self.ask("POST", "/sessions", body)
        self.assertEqual(status, 200, session)
        return session["sessionId"]

    def check_error(self, got, status, code):
        self.assertEqual((got[0], got[1]["error"]), (status, code), got)
        self.assertEqual(sorted(got[1]), ["error", "message", "requestId", "timestamp"])

    def test_session_objects(self):
        metadata = {"a": [1, 2.5, None], "é": {"b": "x"}}
        status, session = self.ask("POST", "/v1/sessions",
                                   {"ttl": 60, "image": "any", "metadata": metadata})
        self.assertEqual(status, 200)
        self.assertEqual(list(session), ["sessionId", "status", "createdAt", "expiresAt",
                                         "lastActivityAt", "metadata", "image"])
        self.assertEqual((session["status"], session["metadata"], session["image"]),
                         ("running", metadata, "any"))
        self.assertRegex(session["createdAt"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        path = "/sessions/" + session["sessionId"]
        self.assertEqual(self.ask("GET", path)[1]["sessionId"], session["sessionId"])
        self.assertEqual(self.ask("DELETE", path),
                         (200, {"message": "Session deleted successfully"}))
        self.check_error(self.ask("DELETE", path), 404, "SESSION_NOT_FOUND")

    def test_lists_are_newest_first(self):
        ids = [self.create() for _ in range(5)]
        status, page = self.ask("GET", "/sessions?limit=3")
        self.assertEqual([s["sessionId"] for s in page["sessions"]], ids[:1:-1])
        self.assertEqual((page["limit"], page["offset"]), (3, 0))
        page = self.ask("GET", "/sessions?limit=2&offset=3")[1]
        self.assertEqual([s["sessionId"] for s in page["sessions"]], ids[1::-1])
        self.assertEqual(self.ask("GET", "/sessions", token=OTHER),
                         (200, {"sessions": [], "total": 0, "limit": 50, "offset": 0}))

    def test_what_is_refused(self):
        for body, code in [({"ttl": 59}, "INVALID_TTL"), ({"ttl": 28801}, "INVALID_TTL"),
                           ({"ttl": "60"}, "INVALID_TTL"), ({"ttl": True}, "INVALID_TTL"),
                           ({"metadata": []}, "INVALID_PARAMETER"),
                           ({"sshPublicKey": "nonsense"}, "INVALID_PARAMETER"),
                           ("{", "INVALID_REQUEST"), ("[]", "INVALID_REQUEST")]:
            self.check_error(self.ask("POST", "/sessions", body), 400, code)
        self.check_error(self.ask("GET", "/sessions?limit=0"), 400, "INVALID_LIMIT")
        self.check_error(self.ask("GET", "/sessions?limit=101"), 400, "INVALID_LIMIT")
        self.check_error(self.ask("GET", "/sessions?offset=-1"), 400, "INVALID_PARAMETER")
        self.check_error(self.ask("GET", "/sessions", token=None), 401, "UNAUTHORIZED")
        self.check_error(self.ask("GET", "/sessions", token="wrong"), 401, "UNAUTHORIZED")
        self.assertEqual(self.server.json("GET", "/health"), (200, {"status": "healthy"}))

    def test_another_token_sees_nothing(self):
        session = self.create()
        for method, path, body in [("GET", "", None), ("DELETE", "", None),
                                   ("POST", "/commands", {"command": "true"}),
                                   ("POST", "/pause", None), ("GET", "/files?filePath=x", None)]:
            got = self.ask(method, f"/sessions/{session}{path}", body, token=OTHER)
            self.check_error(got, 404, "SESSION_NOT_FOUND")
        self.assertEqual(self.connect(session, OTHER)[:12], b"HTTP/1.1 404")

    def test_commands_and_code(self):
        path = f"/sessions/{self.create()}"
        self.assertEqual(
            self.ask("POST", path + "/commands",
                     {"command": "echo $X; echo e >&2; exit 3", "env": {"X": "y"}}),
            (200, {"status": "failed", "exitCode": 3, "stdout": "y\n", "stderr": "e\n"}))
        self.assertEqual(self.ask("POST", path + "/code", {"code": "print(6 * 7)"}),
                         (200, {"status": "completed", "exitCode": 0, "stdout": "42\n",
                                "stderr": ""}))
        self.assertEqual(
            self.ask("POST", path + "/commands", {"command": "echo a; sleep 60", "timeout": 1}),
            (200, {"status": "timeout", "exitCode": None, "stdout": "a\n", "stderr": ""}))
        for body in [{}, {"command": 1}, {"command": "x", "timeout": 0},
                     {"command": "x", "timeout": 301}, {"command": "x", "env": {"A": 1}}]:
            self.check_error(self.ask("POST", path + "/commands", body), 400, "INVALID_PARAMETER")
        self.check_error(self.ask("POST", path + "/code", {"code": "x", "language": "cobol"}), 400,
                         "INVALID_PARAMETER")

    def test_files(self):
        path = f"/sessions/{self.create()}/files"
        octets = {"Content-Type": "application/octet-stream"}
        status, info = self.ask("POST", path + "?path=a%20b.txt", b"hello", headers=octets)
        self.assertEqual(status, 201)
        self.assertEqual((info["name"], info["path"], info["type"], info["size"],
                          info["permissions"], info["checksum"]),
                         ("a b.txt", "/workspace/a b.txt", "file", 5, "rw-r--r--",
                          "5d41402abc4b2a76b9719d911017c592"))
        self.assertEqual(self.ask("POST", path + "?path=a%20b.txt", b"x", headers=octets)[0], 409)
        self.assertEqual(self.ask("POST", path + "?path=a%20b.txt&overwrite=true", b"\0\xff",
                                  headers=octets)[0], 201)
        status, headers, content = self.server.ask("GET", path + "?filePath=/workspace/a%20b.txt",
                                                   token=TOKEN)
        self.assertEqual((status, content, headers["Content-Disposition"]),
                         (200, b"\0\xff", 'attachment; filename="a b.txt"'))
        self.assertEqual(self.ask("GET", path + "?filePath=nonesuch")[0], 404)
        form = (b"--B\r\nContent-Disposition: form-data; name=\"other\"\r\n\r\nx\r\n--B\r\n"
                b"Content-Disposition: form-data; name=\"file\"; filename=\"f\"\r\n\r\nin a form"
                b"\r\n--B--\r\n")
        self.assertEqual(self.ask("POST", path + "?path=../../workspace/d/f", form,
                                  headers={"Content-Type": "multipart/form-data; boundary=B"})[0],
                         201)
        self.assertEqual(self.server.ask("GET", path + "?filePath=d/f", token=TOKEN)[2],
                         b"in a form")

    def test_pause_and_resume(self):
        path = f"/sessions/{self.create()}"
        self.ask("POST", path + "/commands", {"command": "echo kept > f"})
        self.assertEqual(self.ask("POST", path + "/pause")[1]["status"], "paused")
        self.check_error(self.ask("POST", path + "/pause"), 409, "INVALID_STATE")
        self.check_error(self.ask("POST", path + "/commands", {"command": "true"}), 409,
                         "INVALID_STATE")
        self.assertEqual(self.ask("POST", path + "/resume")[1]["status"], "running")
        self.check_error(self.ask("POST", path + "/resume"), 409, "INVALID_STATE")
        self.assertEqual(self.ask("POST", path + "/commands", {"command": "cat f"})[1]["stdout"],
                         "kept\n")

    # --- the tunnel ------------------------------------------------------------------------------

    def connect(self, session: str, token: str) -> bytes:
        with socket.create_connection(("127.0.0.1", self.server.port), PATIENCE_S) as sock:
            sock.sendall(f"CONNECT /sessions/{session} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                         f"Proxy-Authorization: Bearer {token}\r\n\r\n".encode())
            got = sock.recv(65536)
            if b" 200 " not in got.split(b"\r\n")[0]:
                return got
            # No banner before the client's first byte.
            self.assertEqual(got, b"HTTP/1.1 200 Connection Established\r\n\r\n")
            sock.settimeout(0.3)
            with self.assertRaises(TimeoutError):
                sock.recv(1)
            sock.settimeout(PATIENCE_S)
            sock.sendall(b"SSH-2.0-test\r\n")
            return got + sock.recv(4)

    def test_tunnel_heads(self):
        session = self.create()
        self.assertTrue(self.connect(session, TOKEN).endswith(b"\r\n\r\nSSH-"))
        self.assertEqual(self.connect(session, "wrong")[:12], b"HTTP/1.1 401")
        self.assertEqual(self.connect("nonesuch", TOKEN)[:12], b"HTTP/1.1 404")

    # --- OpenSSH ---------------------------------------------------------------------------------

    def options(self, session: str) -> list:
        proxy = (f"{sys.executable} {self.folder.name}/proxy.py {self.server.port} {session} "
                 f"{TOKEN}")
        return ["-o", f"ProxyCommand={proxy}", "-o", "StrictHostKeyChecking=no", "-o",
                "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR", "-o", "BatchMode=yes",
                "-o", "IdentitiesOnly=yes", "-F", "none", "-i", self.key]

    def run_client(self, *words, data=None, check=True):
        done = subprocess.run([str(w) for w in words], input=data, capture_output=True,
                              timeout=PATIENCE_S, check=False,
                              stdin=None if data is not None else subprocess.DEVNULL)
        if check:
            self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def ssh(self, session: str, command: str, *more, data=None):
        return self.run_client("ssh", *self.options(session), *more, "sandbox@any", command,
                               data=data, check=False)

    def test_openssh_exec(self):
        session = self.create(sshPublicKey=self.public_key)
        done = self.ssh(session, "echo out; echo err >&2; pwd; exit 7")
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (7, b"out\n/workspace\n", b"err\n"))
        binary = bytes(range(256)) * 4096
        self.assertEqual(self.ssh(session, "cat", data=binary).stdout, binary)
        self.assertEqual(self.ssh(session, "wc -c", data=b"x" * 3_000_000).stdout.strip(),
                         b"3000000")
        self.assertEqual(len(self.ssh(session, "head -c 5000000 /dev/zero").stdout), 5_000_000)
        done = self.ssh(session, "tty; stty size; echo $TERM", "-tt")
        self.assertIn(b"/dev/pts/", done.stdout)
        self.assertIn(b"\r\n", done.stdout)

    def test_openssh_by_the_plain_port(self):
        session = self.create(sshPublicKey=self.public_key)
        options = self.options(session)[2:]
        words = ["ssh", *options, "-p", self.server.ssh_port]
        done = self.run_client(*words, f"sandbox+{session}@127.0.0.1", "echo plain")
        self.assertEqual(done.stdout, b"plain\n")
        self.assertEqual(self.run_client(*words, "sandbox@127.0.0.1", "true",
                                         check=False).returncode, 255)
        self.assertEqual(self.run_client(*words, f"root+{session}@127.0.0.1", "true",
                                         check=False).returncode, 255)

    def test_a_wrong_key_is_refused(self):
        session = self.create()
        self.assertEqual(self.ssh(session, "true").returncode, 255)

    def test_scp_and_sftp(self):
        session = self.create(sshPublicKey=self.public_key)
        here = Path(self.folder.name, "files")
        (here / "d" / "e").mkdir(parents=True)
        (here / "d" / "one file").write_bytes(os.urandom(300_000))
        (here / "d" / "e" / "empty").write_bytes(b"")
        for flag, name in [("-O", "old"), ("-s", "new")]:
            options = [flag, *self.options(session)]
            self.run_client("scp", "-r", "-p", *options, here / "d",
                            f"sandbox@any:/workspace/{name}")
            self.run_client("scp", "-r", *options, f"sandbox@any:{name}", here / name)
            self.run_client("diff", "-r", here / "d", here / name)
        batch = Path(self.folder.name, "batch")
        batch.write_text("cd /workspace\nmkdir s\nput '%s' s/f\nrename s/f s/g\nln -s g s/l\n"
                         "chmod 600 s/g\nls -l s\nget s/l %s\nrm s/g\nrm s/l\nrmdir s\n"
                         % (here / "d" / "one file", here / "back"))
        done = self.run_client("sftp", *self.options(session), "-b", batch, "sandbox@any")
        self.assertIn(b"-rw-------", done.stdout)
        self.assertEqual((here / "back").read_bytes(), (here / "d" / "one file").read_bytes())
        batch.write_text("get nonesuch\n")
        self.assertIn(b"not found", self.run_client("sftp", *self.options(session), "-b", batch,
                                                    "sandbox@any", check=False).stderr)

    def test_deleting_a_session_drops_its_tunnels(self):
        session = self.create(sshPublicKey=self.public_key)
        client = subprocess.Popen(["ssh", *self.options(session), "sandbox@any",
                                   "echo begun; sleep 100"], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        self.assertEqual(client.stdout.readline(), b"begun\n")
        self.ask("DELETE", f"/sessions/{session}")
        self.assertNotEqual(client.wait(PATIENCE_S), 0)
        client.stdout.close()

    def test_connects_leave_nothing(self):
        session = self.create(sshPublicKey=self.public_key)
        self.ssh(session, "true")
        until(lambda: "ssh_closed" in self.server.log(), "the connection is closed")
        descriptors = self.server.descriptors()
        for _ in range(10):
            self.assertEqual(self.ssh(session, "true").returncode, 0)
        until(lambda: self.server.descriptors() <= descriptors, "the connections are gone")

    # --- the SDK ---------------------------------------------------------------------------------

    def test_sdk(self):
        try:
            import paramiko
            import requests
        except ImportError as error:
            self.skipTest(f"the SDK's parts are not installed: {error}")
        import sandbox_sessions_sdk as sdk
        with sdk.SessionsClient(self.server.url, TOKEN) as client:
            session = client.create_session(ttl=60, metadata={"a": 1})
            self.assertEqual(client.get_session(session.session_id).metadata, {"a": 1})
            self.assertIn(session.session_id,
                          [s.session_id for s in client.list_sessions()["sessions"]])
            for bad in [59, 28801, "60", None]:
                with self.assertRaises(ValueError):
                    client.create_session(ttl=bad)
            with sdk.SessionSSHClient(self.server.url, TOKEN, session.session_id,
                                      username="sandbox") as ssh:
                self.assertEqual(ssh.run_command("echo o; echo e >&2; exit 4"),
                                 {"stdout": "o\n", "stderr": "e\n", "exit_code": 4})
                local = Path(self.folder.name, "up")
                local.write_bytes(os.urandom(100_000))
                ssh.upload_file(local, "/workspace/up")
                ssh.download_file("up", str(local) + ".back")
                self.assertEqual(Path(str(local) + ".back").read_bytes(), local.read_bytes())
                with ssh.open_sftp() as sftp:
                    self.assertEqual(sftp.listdir("."), ["up"])
                    with self.assertRaises(FileNotFoundError):
                        sftp.stat("nonesuch")
            with self.assertRaises(sdk.SandboxOperationError):
                ssh.run_command("true")
            client.delete_session(session.session_id)
            with self.assertRaises(sdk.SessionNotFoundError):
                client.get_session(session.session_id)
            with self.assertRaises(sdk.SessionNotFoundError):
                sdk.HTTPConnectTunnel(self.server.url, TOKEN, session.session_id).open()
        with self.assertRaises(sdk.UnauthorizedError):
            sdk.SessionsClient(self.server.url, "wrong").list_sessions()
        with self.assertRaises(sdk.SandboxConnectionError):
            sdk.SessionsClient("http://127.0.0.1:1", "x").list_sessions()
        with self.assertRaises(ConnectionError):
            sdk.HTTPConnectTunnel("http://127.0.0.1:1", "x", "y").open()


class Limits(unittest.TestCase):
    def test_rates_and_numbers_of_sessions(self):
        with Server("serve", "--token", TOKEN, "--max-sessions", "2", "--rate-limit", "6") as server:
            for status in [200, 200, 429, 429, 429, 429]:
                got, headers, body = server.ask("POST", "/sessions", token=TOKEN)
                self.assertEqual(got, status)
            got, headers, body = server.ask("GET", "/sessions", token=TOKEN)
            self.assertEqual((got, json.loads(body)["error"]), (429, "RATE_LIMITED"))
            self.assertEqual((headers["X-RateLimit-Limit"], headers["X-RateLimit-Remaining"]),
                             ("6", "0"))
            self.assertTrue(headers["X-RateLimit-Reset"].isdigit())
            self.assertEqual(server.ask("GET", "/health")[0], 200)

    def test_an_idle_session_ends(self):
        with Server("serve", "--idle-timeout", "1") as server:
            session = server.json("POST", "/sessions")[1]["sessionId"]
            # A running command is no idleness.
            self.assertEqual(server.json("POST", f"/sessions/{session}/commands",
                                         {"command": "sleep 1.5"})[1]["exitCode"], 0)
            until(lambda: server.json("GET", "/sessions")[1]["total"] == 0, "it is idle")
            self.assertEqual(server.ask("GET", f"/sessions/{session}")[0], 404)
            self.assertIn("reason=idle", server.log())


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
                    self.assertEqual(sorted(p.suffix for p in Path(folder, "state").iterdir()),
                                     [".damaged", ".session", ".session"])


if __name__ == "__main__":
    unittest.main()
