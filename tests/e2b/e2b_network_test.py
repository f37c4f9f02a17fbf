# SPDX-License-Identifier: Apache-2.0
"""What of the network sandboxes of E2B's wire get: what the operator allows, whatever they ask for."""
import http.server
import json
import sys
import threading
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "http"))
from e2b_wire_test import KEY, Box  # noqa: E402
from server import Server  # noqa: E402


class Inside(http.server.BaseHTTPRequestHandler):
    """What this machine has for itself: a sandbox must not see it unasked."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "6")
        self.end_headers()
        self.wfile.write(b"secret")

    def log_message(self, *_):
        pass


class Network(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.inside = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Inside)
        threading.Thread(target=cls.inside.serve_forever, daemon=True).start()
        cls.addClassCleanup(cls.inside.shutdown)
        cls.here = f"localhost:{cls.inside.server_port}"

    def serve(self, *words):
        server = Server("serve", "--token", KEY, *words)
        self.addCleanup(server.stop)
        return server

    def reaches(self, box):
        out, err, _, _ = box.run(f"curl -s --max-time 20 http://{self.here}/ || echo refused")
        self.assertIn(out, ["secret", "refused\n"], err)
        return out == "secret"

    def refused(self, server, **wish):
        status, _, body = server.ask("POST", "/v2/sandboxes", {"templateID": "base", **wish}, headers={"X-API-KEY": KEY})
        answer = json.loads(body)
        self.assertEqual((status, answer["code"]), (400, 400), wish)
        return answer["message"]

    def test_nothing_is_open_unless_a_client_names_it(self):
        server = self.serve()
        self.assertFalse(self.reaches(Box(server, allow_internet_access=True)))
        self.assertTrue(self.reaches(Box(server, network={"allowOut": [self.here]})))
        self.assertFalse(self.reaches(Box(server, network={"allowOut": ["*"]})), "a private address has to be named")
        denied = self.serve("--session-net-deny", "localhost")
        self.assertFalse(self.reaches(Box(denied, network={"allowOut": [self.here]})))

    def test_the_internet_is_no_private_address(self):
        server = self.serve("--e2b-internet")
        box = Box(server)
        self.assertTrue(box.rest("GET")[1]["allowInternetAccess"])
        self.assertFalse(self.reaches(box))

    def test_where_there_are_bounds_nothing_else_is_open(self):
        server = self.serve("--allow-session-net", "granted.example")
        for rule in [self.here, "localhost", "*", "0.0.0.0/0", "127.0.0.1", "127.0.0.0/8", "api.example.com", "169.254.169.254"]:
            for more in [{}, {"allow_internet_access": True}, {"allow_internet_access": False}]:
                said = self.refused(server, network={"allowOut": [rule]}, **more)
                self.assertIn("--allow-session-net", said)
        box = Box(server, allow_internet_access=True)
        self.assertFalse(box.rest("GET")[1]["allowInternetAccess"])
        self.assertFalse(self.reaches(box))
        status, answer = box.rest("PUT", "/network", {"allowOut": [self.here]})
        self.assertEqual((status, "--allow-session-net" in answer["message"]), (400, True))
        self.assertFalse(self.reaches(box))
        self.assertEqual(box.rest("PUT", "/network", {"denyOut": ["8.8.8.8"]})[0], 204)
        self.assertEqual(box.rest("PUT", "/network", {"allowOut": "x"})[0], 400)
        self.assertEqual(box.rest("PUT", "/network", {"dnsServers": ["1.1.1.1"]})[0], 400)

    def test_what_may_be_asked_for(self):
        server = self.serve("--allow-session-net", self.here)
        box = Box(server)
        self.assertFalse(self.reaches(box))
        self.assertEqual(box.rest("PUT", "/network", {"allowOut": [self.here]})[0], 204)
        self.assertTrue(self.reaches(box))
        # What is made of it has what it has.
        status, forks = box.rest("POST", "/fork", {"count": 1, "timeout": 60})
        self.assertEqual(status, 201)
        fork = Box.__new__(Box)
        fork.server, fork.key, fork.made = server, KEY, forks[0]["sandbox"]
        fork.id = fork.made["sandboxID"]
        self.assertTrue(self.reaches(fork))
        self.assertEqual(box.rest("PUT", "/network", {})[0], 204)  # what is left out is as at first
        self.assertFalse(self.reaches(box))
        self.assertTrue(self.reaches(fork))
        asked = Box(server, network={"allowOut": [self.here], "denyOut": ["0.0.0.0/0"]}, allow_internet_access=False)
        self.assertTrue(self.reaches(asked))
        self.assertEqual(asked.rest("GET")[1]["network"], {"allowOut": [self.here], "denyOut": ["0.0.0.0/0"]})
        self.refused(server, network={"allowOut": [self.here, "*"]})

    def test_what_there_is_unasked(self):
        server = self.serve("--e2b-net", self.here)
        box = Box(server)
        self.assertTrue(box.rest("GET")[1]["allowInternetAccess"])
        self.assertTrue(self.reaches(box))
        self.assertEqual(box.rest("PUT", "/network", {"allow_internet_access": False})[0], 204)
        self.assertFalse(box.rest("GET")[1]["allowInternetAccess"])
        self.assertFalse(self.reaches(box))
        self.assertEqual(box.rest("PUT", "/network", {"allow_internet_access": True})[0], 204)
        self.assertTrue(self.reaches(box))
        for wish in [{"allow_internet_access": False}, {"network": {"denyOut": ["0.0.0.0/0"]}}]:
            self.assertFalse(self.reaches(Box(server, **wish)))
        self.assertIn("network.denyOut", self.refused(server, network={"denyOut": ["127.0.0.1"]}))
        # It is this door's alone.
        status, answer = server.json("POST", "/v1/sessions", {}, token=KEY)
        self.assertEqual(status, 200, answer)
        session = answer["sessionId"]
        _, done = server.json("POST", f"/v1/sessions/{session}/commands",
                              {"command": f"curl -s http://{self.here}/ || echo refused"}, token=KEY)
        self.assertIn("refused", json.dumps(done))

    def test_ports_stay_closed_where_other_things_change(self):
        server = self.serve()
        box = Box(server, network={"allowPublicTraffic": False})
        ask = lambda: box.server.ask("GET", "/", headers={"Host": f"8123-{box.id}.any.where"})[0]
        self.assertEqual(ask(), 403)
        self.assertEqual(box.rest("PUT", "/network", {"allowOut": []})[0], 204)
        self.assertEqual(ask(), 403)
        self.assertEqual(box.rest("PUT", "/network", {"allowPublicTraffic": True})[0], 204)
        self.assertEqual(ask(), 502)

    def test_a_rule_of_the_operator_is_read_at_the_start(self):
        with self.assertRaisesRegex(RuntimeError, "no rule"):
            Server("serve", "--e2b-net", "no rule")


if __name__ == "__main__":
    unittest.main(verbosity=2)
