# SPDX-License-Identifier: Apache-2.0
"""REST sessions, the tunnel, SSH and SFTP against real clients: OpenSSH's and our SDK's."""
import asyncio
import base64
import contextlib
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

from server import PATIENCE_S, Server, new_ssh_key, until

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
        cls.public_key = new_ssh_key(cls.key)
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
                     {"command": "x", "timeout": 301}, {"command": "x", "env": {"A": 1}},
                     {"command": "x", "cwd": 1}]:
            self.check_error(self.ask("POST", path + "/commands", body), 400, "INVALID_PARAMETER")
        self.check_error(self.ask("POST", path + "/code", {"code": "x", "language": "cobol"}), 400,
                         "INVALID_PARAMETER")
        self.assertEqual(self.ask("POST", path + "/commands", {"command": "pwd", "cwd": "/usr"})[1]["stdout"], "/usr\n")
        code = {"code": "import os; print(os.getcwd())", "cwd": "/usr"}
        self.assertEqual(self.ask("POST", path + "/code", code)[1]["stdout"], "/usr\n")
        self.assertNotEqual(self.ask("POST", path + "/commands", {"command": "pwd", "cwd": "/none"})[1]["exitCode"], 0)

    def test_a_name_that_occurs_twice_is_refused(self):
        path = f"/sessions/{self.create()}"
        for where, body in [("/sessions", '{"ttl": 60, "ttl": 61}'),
                            (path + "/commands", '{"command": "true", "command": "false"}'),
                            (path + "/code", '{"code": "1", "env": {"A": "1", "A": "2"}}')]:
            self.check_error(self.ask("POST", where, body), 400, "INVALID_REQUEST")

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

    def test_what_files_are_refused(self):
        path = f"/sessions/{self.create()}"
        self.ask("POST", path + "/commands", {"command": "mkdir d; echo x > f; chmod 0 f"})
        octets = {"Content-Type": "application/octet-stream"}
        for name, status, code in [("/etc/passwd", 409, "INVALID_STATE"),
                                   ("/etc/new", 403, "FORBIDDEN"), ("d", 409, "INVALID_STATE"),
                                   ("f/x", 404, "INVALID_PARAMETER"),
                                   ("x" * 300, 400, "INVALID_PARAMETER")]:
            self.check_error(self.ask("POST", f"{path}/files?path={name}", b"x", headers=octets),
                             status, code)
        for name, status, code in [("d", 400, "INVALID_PARAMETER"), ("f", 403, "FORBIDDEN"),
                                   ("f/x", 404, "INVALID_PARAMETER")]:
            self.check_error(self.ask("GET", f"{path}/files?filePath={name}"), status, code)
        self.check_error(self.ask("GET", path + "/files"), 400, "INVALID_PARAMETER")

    def test_what_does_not_fit_takes_nothing_away(self):
        octets = {"Content-Type": "application/octet-stream"}
        with Server("serve", "--session-fs-limit", "8M") as server:
            session = "/sessions/" + server.json("POST", "/sessions")[1]["sessionId"]
            path = session + "/files?overwrite=true&path="

            def has(name):
                return server.ask("GET", f"{session}/files?filePath={name}")[2]

            self.assertEqual(server.ask("POST", path + "f", b"old content", headers=octets)[0], 201)
            self.assertEqual(server.ask("POST", path + "large", b"a" * (5 << 20), headers=octets)[0], 201)
            for name in ["f", "new"]:
                self.assertEqual(server.ask("POST", path + name, b"x" * (5 << 20), headers=octets)[0], 413)
            self.assertEqual(has("f"), b"old content")
            done = server.json("POST", session + "/commands", {"command": "ls"})[1]
            self.assertEqual(done["stdout"], "f\nlarge\n")
            # What was there has enough room for it.
            self.assertEqual(server.ask("POST", path + "large", b"b" * (5 << 20), headers=octets)[0], 201)
            self.assertEqual(has("large"), b"b" * (5 << 20))

    def test_files_that_are_replaced(self):
        path = f"/sessions/{self.create()}"
        long = "n" * 255
        self.ask("POST", path + "/commands", {"command": f"umask 077; mkdir d; touch f d/g {long}; ln -s f l; chmod 555 d"})
        for name in ["f", "d/g", "l", long]:  # a folder that takes no other file, a link, no room for a longer name
            status, *_ = self.ask("POST", f"{path}/files?overwrite=true&path={name}", name.encode(),
                                  headers={"Content-Type": "application/octet-stream"})
            self.assertEqual(status, 201, name)
        done = self.ask("POST", path + "/commands", {"command": f"cat f d/g {long}; stat -c %a%F f l; ls d | wc -l"})[1]
        self.assertEqual(done["stdout"], "l" + "d/g" + long + "600regular file\n777symbolic link\n1\n")

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

    # --- the description ---------------------------------------------------------------------------

    def check_schema(self, value, schema, document, where="answer"):
        """The part of JSON Schema that the description uses."""
        if "$ref" in schema:
            schema = document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
        if "enum" in schema:
            self.assertIn(value, schema["enum"], where)
        if "const" in schema:
            self.assertEqual(value, schema["const"], where)
        kinds = {"string": str, "integer": int, "object": dict, "array": list, "null": type(None)}
        names = schema.get("type", [])
        names = [names] if isinstance(names, str) else names
        if names:
            self.assertIsInstance(value, tuple(kinds[name] for name in names), where)
        if "pattern" in schema:
            self.assertRegex(value, schema["pattern"])
        if isinstance(value, dict) and "properties" in schema:
            self.assertEqual(set(schema["required"]) - set(value), set(), where)
            self.assertEqual(set(value) - set(schema["properties"]), set(), where)
            for name, part in value.items():
                self.check_schema(part, schema["properties"][name], document, f"{where}.{name}")
        for item in value if isinstance(value, list) else []:
            self.check_schema(item, schema["items"], document, where)

    def test_an_error_says_where_to_look(self):
        body = self.server.ask("POST", "/sessions", b'{"ttl": 60,}', token=TOKEN)[2]
        self.assertRegex(json.loads(body)["message"], "^the body must be a JSON object: .*line 1, column 12")
        self.assertIn("/v1/docs shows what there is", self.ask("GET", "/nothing")[1]["message"])
        self.assertEqual(self.server.ask("GET", "/v1/docs")[0], 200)

    def test_the_description_is_true(self):
        self.assertEqual(self.server.ask("GET", "/openapi.json")[2],
                         self.server.ask("GET", "/v1/openapi.json")[2])
        document = self.server.json("GET", "/openapi.json")[1]
        session = self.create()
        self.server.ask("POST", f"/sessions/{session}/files?path=there", b"x", token=TOKEN)
        bodies = {"createSession": {"ttl": 60}, "runCommand": {"command": "true"}, "uploadFile": b"bytes",
                  "runCode": {"code": "exit 3", "language": "bash", "env": {"A": "b"}}}
        queries = {"listSessions": "?limit=1&offset=0", "uploadFile": "?path=new", "downloadFile": "?filePath=there"}
        methods = ["GET", "POST", "DELETE", "PUT", "PATCH"]
        said = []
        for path, operations in document["paths"].items():
            url = "/v1" + path.replace("{sessionId}", session)
            takes = {name.upper() for name in operations} & set(methods)
            for method in set(methods) - takes:
                status, fields, _ = self.server.ask(method, url, token=TOKEN)
                self.assertEqual((status, set(fields["Allow"].split(", ")) - {"HEAD"}), (405, takes), (method, path))
            # What ends the session comes last.
            for method in sorted(set(operations) & {"get", "post"}):
                said.append((url, method, operations[method]))
        said.append((f"/v1/sessions/{session}", "delete",
                     document["paths"]["/sessions/{sessionId}"]["delete"]))
        for url, method, operation in said:
            name = operation["operationId"]
            url += queries.get(name, "")
            if operation.get("security") != []:
                self.check_error(self.server.json(method.upper(), url), 401, "UNAUTHORIZED")
            got, headers, content = self.server.ask(method.upper(), url, bodies.get(name),
                                                    token=TOKEN)
            self.assertIn(str(got), operation["responses"], name)
            self.assertLess(got, 300, (name, content))
            media = operation["responses"][str(got)]["content"]
            self.assertIn(headers["Content-Type"], media, name)
            if "application/json" in media:
                self.check_schema(json.loads(content), media["application/json"]["schema"],
                                  document, name)
        self.check_schema(self.ask("GET", f"/v1/sessions/{session}")[1],
                          {"$ref": "#/components/schemas/Error"}, document)

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

    def test_a_tunnel_as_proxies_are_asked_for(self):
        session = self.create()
        for target, password, status in [(f"{session}:22", TOKEN, 200), (f"{session}:22", "no", 401),
                                         ("nonesuch:22", TOKEN, 404), ("x", TOKEN, 404),
                                         (f"{session}:22", OTHER, 404)]:
            words = base64.b64encode(b"any:" + password.encode()).decode()
            with socket.create_connection(("127.0.0.1", self.server.port), PATIENCE_S) as sock:
                sock.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n"
                             f"Proxy-Authorization: Basic {words}\r\n\r\n".encode())
                self.assertEqual(sock.recv(65536)[:13], f"HTTP/1.1 {status} ".encode())
                if status == 200:
                    sock.sendall(b"SSH-2.0-test\r\n")
                    self.assertEqual(sock.recv(4), b"SSH-")

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
        # More than any window, to one that reads a little at a time.
        done = self.ssh(session, "head -c 1 | wc -c; cat | wc -c", data=b"x" * 40_000_000)
        self.assertEqual((done.returncode, done.stdout.split()[0]), (0, b"1"))
        self.assertGreater(int(done.stdout.split()[1]), 38_000_000)
        done = self.ssh(session, "tty; stty size; echo $TERM", "-tt")
        self.assertIn(b"/dev/pts/", done.stdout)
        # Nothing of where the client is, whatever it says.
        for more in [], ["-o", "SetEnv=SSH_CLIENT=mine"]:
            self.assertEqual(self.ssh(session, "echo $SSH_CONNECTION, $SSH_CLIENT", *more).stdout,
                             b"127.0.0.1 65535 127.0.0.1 22, 127.0.0.1 65535 22\n")
        self.assertIn(b"\r\n", done.stdout)

    def serve_inside(self, session: str, code: str) -> subprocess.Popen:
        """A program of the sandbox that listens, once this returns."""
        program = subprocess.Popen(["ssh", *self.options(session), "sandbox@any", "python3", "-"],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL)
        program.stdin.write(code.encode())
        program.stdin.close()
        self.assertEqual(program.stdout.readline(), b"listening\n")
        return program

    def test_forwards_end_each_way_by_itself(self):
        session = self.create(sshPublicKey=self.public_key)
        program = self.serve_inside(session, """
import socket
listener = socket.create_server(("127.0.0.1", 8124))
print("listening", flush=True)
while True:
    peer, _ = listener.accept()
    got = b""
    while piece := peer.recv(65536):
        got += piece
    peer.sendall(got[::-1])
    peer.close()
""")
        forward = lambda port, data: self.run_client(
            "ssh", "-W", f"localhost:{port}", *self.options(session), "sandbox@any", data=data,
            check=False)
        # It answers at the end of its input: that is told while the other way goes on.
        for data in [b"", b"ab" * 3, os.urandom(1_000_000)]:
            done = forward(8124, data)
            self.assertEqual((done.returncode, done.stdout), (0, data[::-1]))
        self.assertNotEqual(forward(8125, b"x").returncode, 0)
        program.kill()
        program.wait()
        program.stdout.close()

    def test_a_client_that_does_not_read(self):
        try:
            import paramiko
        except ImportError as error:
            self.skipTest(str(error))
        session = self.create()
        sock = socket.create_connection(("127.0.0.1", self.server.ssh_port), PATIENCE_S)
        near, far = socket.socketpair()
        reads = threading.Event()
        reads.set()

        def up():
            with contextlib.suppress(OSError):
                while data := far.recv(65536):
                    sock.sendall(data)

        def down():
            with contextlib.suppress(OSError):
                while reads.wait() and (data := sock.recv(65536)):
                    far.sendall(data)

        relays = [threading.Thread(target=way, daemon=True) for way in (up, down)]
        for relay in relays:
            relay.start()
        transport = paramiko.Transport(near)
        transport.start_client(timeout=PATIENCE_S)
        transport.auth_password("sandbox+" + session, TOKEN)
        # The window would take all of it.
        channel = transport.open_session(window_size=1 << 31)
        before = self.server.resident_mb()
        channel.exec_command("head -c 400M /dev/zero; touch said")
        reads.clear()
        said = self.ask("POST", f"/sessions/{session}/commands", {"command": "sleep 1; ls"})[1]
        self.assertEqual(said["stdout"], "")
        self.assertLess(self.server.resident_mb() - before, 100)
        self.assertEqual(self.ask("DELETE", f"/sessions/{session}")[0], 200)
        reads.set()
        relays[1].join(PATIENCE_S)
        transport.close()
        for end in (near, far, sock):
            end.close()

    def test_a_command_that_no_server_answers_is_given_up(self):
        try:
            import paramiko
            from sandbox_sessions_sdk import SandboxOperationError, SessionSSHClient
        except ImportError as error:
            self.skipTest(str(error))
        over = threading.Event()

        class Silent(paramiko.ServerInterface):
            def check_auth_password(self, username, password):
                return paramiko.AUTH_SUCCESSFUL

            def check_channel_request(self, kind, chanid):
                return paramiko.OPEN_SUCCEEDED

            def check_channel_exec_request(self, channel, command):
                over.wait(PATIENCE_S)
                return False

        near, far = socket.socketpair()
        with near, far:
            silent = paramiko.Transport(far)
            silent.add_server_key(paramiko.RSAKey.generate(2048))
            silent.start_server(event=threading.Event(), server=Silent())
            client = SessionSSHClient("http://127.0.0.1", TOKEN, "none")
            client._client = paramiko.SSHClient()
            client._client.set_missing_host_key_policy(paramiko.AutoAddPolicy())
            client._client.connect("none", username="sandbox", password=TOKEN, sock=near, look_for_keys=False, allow_agent=False)
            with self.assertRaises(SandboxOperationError) as caught:
                client.run_command("true", timeout=0.2)
            self.assertIsInstance(caught.exception, TimeoutError)
            over.set()
            client.close()
            silent.close()

    def test_many_tunnels_at_once(self):
        try:
            import paramiko
        except ImportError as error:
            self.skipTest(str(error))
        sessions = [self.create() for _ in range(20)]
        transports, wrong = [], []

        def connect(session):
            try:
                sock = socket.create_connection(("127.0.0.1", self.server.port), PATIENCE_S)
                sock.sendall(f"CONNECT /sessions/{session} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                             f"Authorization: Bearer {TOKEN}\r\n\r\n".encode())
                # As real clients do: one read, and what follows the head is lost.
                assert sock.recv(65536).startswith(b"HTTP/1.1 200 ")
                transport = paramiko.Transport(sock)
                transports.append(transport)
                transport.start_client(timeout=PATIENCE_S)
                transport.auth_password("sandbox", TOKEN)
                channels = [transport.open_session() for _ in range(10)]
                for number, channel in enumerate(channels):
                    channel.exec_command(f"echo {session} {number}")
                for number, channel in enumerate(channels):
                    said = channel.makefile().read().decode()
                    assert said == f"{session} {number}\n", said
            except Exception as error:  # for the thread that waits
                wrong.append(repr(error))

        clients = [threading.Thread(target=connect, args=(session,)) for session in sessions]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        self.assertEqual(wrong, [])
        for session in sessions:
            self.ask("DELETE", f"/sessions/{session}")
        for transport in transports:
            transport.join(PATIENCE_S)
            self.assertFalse(transport.is_alive())
            transport.close()

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

    def test_what_only_begins_like_scp_runs_once(self):
        session = self.create(sshPublicKey=self.public_key)
        for command in ("scp -t a; echo ran >>count", "scp -f $(echo ran >>count)", 'scp -t "`echo ran >>count`"',
                        "scp -t a || echo ran >>count"):
            self.ssh(session, f"rm -f count; {command}")
            self.ssh(session, command)
            self.assertEqual(self.ssh(session, "cat count").stdout, b"ran\nran\n", command)

    def test_two_clients_read_the_same_empty_folder(self):
        session = self.create(sshPublicKey=self.public_key)
        self.ssh(session, "mkdir empty")
        clients = [subprocess.Popen(["ssh", *self.options(session), "sandbox@any", "scp -f -r empty"], stdin=subprocess.PIPE,
                                    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) for _ in range(2)]
        for client in clients:
            client.stdin.write(b"\0")
            client.stdin.flush()
            self.assertEqual(client.stdout.readline(), b"D0755 0 empty\n")
        for client in clients:
            client.communicate(b"\0\0", timeout=PATIENCE_S)
        self.assertEqual(self.ssh(session, "rmdir empty").returncode, 0)

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
            for unknown in session.session_id, "00000000-0000-4000-8000-000000000000":
                with self.assertRaises(sdk.SandboxConnectionError) as refused:
                    sdk.HTTPConnectTunnel(self.server.url, TOKEN, unknown).open()
                self.assertIsInstance(refused.exception, sdk.SessionNotFoundError)
                self.assertEqual(refused.exception.status_code, 404)
                self.assertRegex(str(refused.exception), r"^HTTP/1\.1 404 Not Found: ")
            with self.assertRaisesRegex(sdk.SandboxConnectionError, r"^HTTP/1\.1 401 ") as refused:
                sdk.HTTPConnectTunnel(self.server.url, "wrong", session.session_id).open()
            self.assertIsInstance(refused.exception, sdk.UnauthorizedError)
        with self.assertRaises(sdk.UnauthorizedError):
            sdk.SessionsClient(self.server.url, "wrong").list_sessions()
        with self.assertRaises(sdk.SandboxConnectionError):
            sdk.SessionsClient("http://127.0.0.1:1", "x").list_sessions()
        with self.assertRaises(ConnectionError):
            sdk.HTTPConnectTunnel("http://127.0.0.1:1", "x", "y").open()

    def test_sdk_for_asyncio(self):
        try:
            from sandbox_sessions_sdk import aio
        except ImportError as error:
            self.skipTest(f"the SDK's parts are not installed: {error}")

        async def talk():
            async with aio.SessionsClient(self.server.url, TOKEN) as client:
                session = await client.create_session(ttl=60)
                ssh = lambda: aio.SessionSSHClient(self.server.url, TOKEN, session.session_id,
                                                   username="sandbox")
                async with ssh() as one, ssh() as two:
                    said = await asyncio.gather(one.run_command("echo 1"),
                                                two.run_command("echo 2"))
                self.assertEqual([each["stdout"] for each in said], ["1\n", "2\n"])
                paused = await client.pause_session(session.session_id)
                self.assertEqual(paused.status, "paused")
                tunnel = aio.HTTPConnectTunnel(self.server.url, TOKEN, session.session_id)
                with self.assertRaises(aio.SandboxOperationError):
                    await tunnel.open()
                await client.resume_session(session.session_id)
                sock = await tunnel.open()
                sock.sendall(b"SSH-2.0-test\r\n")
                self.assertEqual(sock.recv(4), b"SSH-")
                await tunnel.close()
                await client.delete_session(session.session_id)
                with self.assertRaises(aio.SessionNotFoundError):
                    await tunnel.open()

        asyncio.run(talk())


if __name__ == "__main__":
    unittest.main()
