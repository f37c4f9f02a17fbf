# SPDX-License-Identifier: Apache-2.0
"""E2B's own clients with E2B_DEBUG=true: they make no sandbox, and look for one at two ports of this machine."""
import http.client
import json
import os
import socket
import subprocess
import sys
import unittest
from pathlib import Path

import javascript_sdk_test
import python_sdk_test
from clients import Clients
from e2b_wire_test import KEY, framed
from server import PATIENCE_S, PROGRAM, Server, free_port

AGENT, CODE = 49983, 49999

PYTHON = """
from e2b_code_interpreter import Sandbox
sandbox = Sandbox.create()
assert sandbox.sandbox_id == "debug_sandbox_id"
assert sandbox.commands.run("id -un; pwd").stdout == "user\\n/home/user\\n"
assert sandbox.commands.run("id -un", user="root").stdout == "root\\n"
sandbox.files.write("deep/f", "text")
assert sandbox.files.read("deep/f") == "text"
assert sandbox.run_code("x = 5").error is None
assert sandbox.run_code("x + 1").text == "6"
assert Sandbox.connect("debug_sandbox_id").files.read("deep/f") == "text"
assert sandbox.kill() is True
print("done", flush=True)
import os
os._exit(0)
"""

JAVASCRIPT = """
import assert from 'node:assert/strict'
import { Sandbox } from 'e2b'
const sandbox = await Sandbox.create()
assert.equal((await sandbox.commands.run('id -un; pwd')).stdout, 'user\\n/home/user\\n')
await sandbox.files.write('of/javascript', 'text')
assert.equal(await sandbox.files.read('of/javascript'), 'text')
console.log('done')
"""


def in_use():
    for port in (AGENT, CODE):
        with socket.socket() as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                sock.bind(("127.0.0.1", port))
            except OSError:
                return True
    return False


def serve(cls):
    if in_use():
        raise unittest.SkipTest("another program has the ports of E2B's debug mode")
    cls.server = Server("serve", "--token", KEY, "--e2b-debug")
    cls.addClassCleanup(cls.server.stop)
    cls.environment = {**{name: value for name, value in os.environ.items() if not name.startswith("E2B_")}, "E2B_DEBUG": "true"}


class PythonClient(Clients):
    install = classmethod(python_sdk_test.PythonClients.install.__func__)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server.stop()
        serve(cls)

    def test_a_program_runs(self):
        self.assertEqual(self.check([self.python, "-c", PYTHON]), "done\n")


class JavaScriptClient(Clients):
    install = classmethod(javascript_sdk_test.JavaScriptClient.install.__func__)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server.stop()
        serve(cls)

    def test_a_program_runs(self):
        (cls_program := self.folder / "debug.mjs").write_text(JAVASCRIPT)
        self.assertEqual(self.check(["node", cls_program.name]), "done\n")


class ByHand(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        serve(cls)

    def ask(self, method, path, body=None, port=AGENT, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        with answer:
            return answer.status, answer.read()

    def run_it(self, command, **headers):
        wish = framed({"process": {"cmd": "/bin/bash", "args": ["-c", command]}, "stdin": False})
        return self.ask("POST", "/process.Process/Start", wish, **{"Content-Type": "application/connect+json", **headers})

    def test_there_is_one_sandbox_however_it_is_called(self):
        self.assertEqual(self.ask("GET", "/health")[0], 204)
        self.assertEqual(self.run_it("echo here > f")[0], 200)
        for more in [{}, {"E2b-Sandbox-Id": "debug_sandbox_id", "E2b-Sandbox-Port": str(AGENT)},
                     {"E2b-Sandbox-Id": "a" * 20, "E2b-Sandbox-Port": "8000"}]:
            self.assertEqual(self.ask("GET", "/files?path=f", **more), (200, b"here\n"))
        status, body = self.ask("POST", "/execute", json.dumps({"code": "open('/home/user/f').read()"}), CODE)
        self.assertEqual((status, b"here" in body), (200, True))
        self.assertEqual(self.ask("GET", "/contexts", port=AGENT)[0], 404)
        self.assertEqual(self.ask("GET", "/sandboxes")[0], 404)

    def test_no_page_and_no_other_name_comes_in(self):
        for wrong in [{"Host": f"{AGENT}-{'a' * 20}.evil.example"}, {"Host": "evil.example"}, {"Origin": "http://evil.example"},
                      {"Sec-Fetch-Site": "cross-site"}, {"Host": "8000-" + "a" * 20 + ".localhost"}]:
            self.assertEqual(self.ask("GET", "/files?path=f", **wrong)[0], 403, wrong)
            self.assertEqual(self.run_it("true", **wrong)[0], 403, wrong)
        status, _ = self.ask("POST", "/execute", "{}", CODE, **{"Content-Type": "text/plain", "Sec-Fetch-Mode": "no-cors"})
        self.assertEqual(status, 415)

    def test_the_other_port_knows_nothing_of_it(self):
        self.assertEqual(self.ask("GET", "/health")[0], 204)  # it is there
        status, _, body = self.server.ask("GET", "/files?path=f", headers={
            "E2b-Sandbox-Id": "debug_sandbox_id", "E2b-Sandbox-Port": str(AGENT)})
        self.assertEqual((status, json.loads(body)["message"]), (502, "The sandbox was not found"))
        status, _, body = self.server.ask("GET", "/v2/sandboxes", headers={"X-API-KEY": KEY})
        self.assertEqual((status, json.loads(body)), (200, []))

    def test_it_listens_on_this_machine_alone(self):
        lines = Path("/proc/net/tcp").read_text().splitlines() + Path("/proc/net/tcp6").read_text().splitlines()
        places = {line.split()[1] for line in lines if line.split()[3] == "0A"}
        for port in (AGENT, CODE):
            self.assertEqual({each for each in places if each.endswith(f":{port:04X}")}, {f"0100007F:{port:04X}"})

    def test_a_place_that_is_taken_is_said_at_the_start(self):
        done = subprocess.run([PROGRAM, "serve", "--port", str(free_port()), "--e2b-debug"], capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(f"cannot listen on 127.0.0.1:{AGENT}", done.stderr)

    def test_streams_end_with_the_server(self):
        with socket.create_connection(("127.0.0.1", AGENT), timeout=PATIENCE_S) as sock:
            wish = framed({"process": {"cmd": "/bin/sleep", "args": ["1000"]}})
            sock.sendall(f"POST /process.Process/Start HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/connect+json\r\n"
                         f"Content-Length: {len(wish)}\r\n\r\n".encode() + wish)
            self.assertTrue(sock.recv(4096).startswith(b"HTTP/1.1 200"))
            self.assertEqual(self.server.stop(), 0)
            while sock.recv(4096):
                pass
        serve(type(self))


if __name__ == "__main__":
    unittest.main(verbosity=2)
