# SPDX-License-Identifier: Apache-2.0
"""Requests with an Idempotency-Key, which are asked again because their answer was lost."""
import json
import threading
import unittest

from server import Server, until


class Repeats(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("serve", "--token", "one", "--token", "two")

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def ask(self, path, body=None, key=None, token="one"):
        headers = {"Idempotency-Key": key} if key else {}
        status, headers, content = self.server.ask("POST", path, body, token=token, headers=headers)
        return status, headers["X-Cloche-Replayed"], json.loads(content)

    def session(self) -> str:
        return "/sessions/" + self.ask("/sessions")[2]["sessionId"]

    def test_a_session_is_made_once(self):
        first = self.ask("/sessions", {"ttl": 60}, "make")
        self.assertEqual(self.ask("/sessions", {"ttl": 60}, "make"), (200, "true", first[2]))
        self.assertNotEqual(self.ask("/sessions", {"ttl": 60}, "another")[2], first[2])
        # One token's keys are not another one's.
        self.assertNotEqual(self.ask("/sessions", {"ttl": 60}, "make", "two")[2]["sessionId"], first[2]["sessionId"])
        self.assertEqual(self.ask("/sessions", {"ttl": 61}, "make")[0], 422)

    def test_commands_and_code_are_run_once(self):
        path = self.session()
        for kind, body in [("commands", {"command": "echo x >> f; cat f"}),
                           ("code", {"code": "open('f', 'a').write('y\\n'); print(open('f').read())"})]:
            first = self.ask(f"{path}/{kind}", body, "k")
            self.assertEqual(first[:2], (200, None))
            self.assertEqual(self.ask(f"{path}/{kind}", body, "k"), (200, "true", first[2]))
        self.assertEqual(self.ask(path + "/commands", {"command": "cat f"})[2]["stdout"], "x\ny\n")
        other = self.session()
        self.assertEqual(self.ask(other + "/commands", {"command": "echo x >> f; cat f"}, "k")[1], None)

    def test_who_asks_while_it_runs_gets_its_answer(self):
        path = self.session()
        body = {"command": "echo x >> f; until test -e go; do sleep 0.01; done; cat f"}
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(self.ask(path + "/commands", body, "k")))
                   for _ in range(4)]
        for thread in threads:
            thread.start()
        until(lambda: self.server.ask("GET", path + "/files?filePath=f", token="one")[0] == 200, "it runs")
        self.server.ask("POST", path + "/files?path=go", b"", token="one")
        for thread in threads:
            thread.join()
        self.assertEqual([a[2]["stdout"] for a in answers], ["x\n"] * 4)
        self.assertEqual(sorted(str(a[1]) for a in answers), ["None", "true", "true", "true"])

    def test_what_was_refused_is_tried_again(self):
        path = self.session()
        self.ask(path + "/pause")
        self.assertEqual(self.ask(path + "/commands", {"command": "echo hi"}, "k")[0], 409)
        self.ask(path + "/resume")
        status, replayed, result = self.ask(path + "/commands", {"command": "echo hi"}, "k")
        self.assertEqual((status, replayed, result["stdout"]), (200, None, "hi\n"))

    def test_steps_are_run_once(self):
        with Server("sbs", "run") as server:
            session = server.json("POST", "/sessions", headers={"Idempotency-Key": "s"})[1]["session_id"]
            self.assertEqual(server.json("POST", "/sessions", headers={"Idempotency-Key": "s"})[1]["session_id"], session)
            step = {"sandbox_id": session, "type": "bash", "payload": {"cmd": "echo x >> f; cat f"}}
            for _ in range(2):
                got = server.json("POST", f"/sessions/{session}/step", step, headers={"Idempotency-Key": "k"})
                self.assertEqual(got, (200, {"output": "x\n", "error": "", "exit_code": 0}))
            self.assertEqual(server.json("POST", f"/sessions/{session}/step", step)[1]["output"], "x\nx\n")


if __name__ == "__main__":
    unittest.main()
