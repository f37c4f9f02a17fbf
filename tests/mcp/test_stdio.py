# SPDX-License-Identifier: Apache-2.0
"""`cloche mcp` on standard streams: both eras, what is no message, cancelling, progress, the end."""
import json
import signal
import unittest

from wire import MODERN, Wire, WireError, WireTest, about, text_of

SERVER = "io.modelcontextprotocol/serverInfo"


class Fresh(unittest.TestCase):
    def setUp(self) -> None:
        self.wire = Wire()
        self.addCleanup(self.wire.close)

    def assert_error(self, code: int, method: str, params=None) -> WireError:
        with self.assertRaises(WireError) as caught:
            self.wire.ask(method, params)
        self.assertEqual(caught.exception.code, code, caught.exception)
        return caught.exception


class Legacy(Fresh):
    def test_a_version_that_is_known_is_spoken(self) -> None:
        for version in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"):
            result = self.wire.initialize(version)
            self.assertEqual(result["protocolVersion"], version)
            self.assertEqual(result["serverInfo"]["name"], "cloche")
            self.assertLess(len(result["instructions"]), 1500)
            self.assertNotIn("resultType", result)
            self.assertNotIn("_meta", result)

    def test_an_unknown_version_gets_the_newest_of_the_era(self) -> None:
        self.assertEqual(self.wire.initialize("1999-01-01")["protocolVersion"], "2025-11-25")

    def test_ping_and_lists_have_nothing_of_the_other_era(self) -> None:
        self.wire.initialize()
        self.assertEqual(self.wire.ask("ping"), {})
        self.assertEqual(set(self.wire.ask("tools/list")), {"tools"})
        self.assert_error(-32601, "no/such")

    def test_a_resource_that_there_is_not(self) -> None:
        self.wire.initialize()
        self.assert_error(-32002, "resources/read", {"uri": "file:///etc/passwd"})


class Modern(Fresh):
    def test_discover(self) -> None:
        result = self.wire.modern("server/discover")
        self.assertEqual(result["supportedVersions"][0], MODERN)
        self.assertEqual(result["resultType"], "complete")
        self.assertEqual(result["_meta"][SERVER]["name"], "cloche")
        self.assertIn("tools", result["capabilities"])
        self.assertIn("instructions", result)

    def test_lists_say_how_long_they_hold(self) -> None:
        tools = self.wire.modern("tools/list")
        self.assertEqual((tools["ttlMs"], tools["cacheScope"]), (3600000, "public"))
        resources = self.wire.modern("resources/list")
        self.assertEqual((resources["ttlMs"], resources["cacheScope"]), (0, "private"))

    def test_a_call_needs_no_handshake(self) -> None:
        result = self.wire.modern("tools/call", {"name": "bash", "arguments": {"command": "echo hi"}})
        self.assertEqual(text_of(result), "hi\n")
        self.assertEqual(result["resultType"], "complete")

    def test_another_version_is_refused_with_those_that_there_are(self) -> None:
        error = self.assert_error(-32022, "tools/list", {"_meta": about(version="2031-01-01")})
        self.assertEqual(error.data["requested"], "2031-01-01")
        self.assertIn(MODERN, error.data["supported"])

    def test_what_a_request_must_say_of_itself(self) -> None:
        self.assert_error(-32602, "server/discover")
        self.assert_error(-32602, "tools/list", {"_meta": {"io.modelcontextprotocol/protocolVersion": MODERN}})
        self.assert_error(-32602, "tools/list", {"_meta": about(version=7)})

    def test_the_other_era_s_methods_are_none(self) -> None:
        self.assert_error(-32601, "ping", {"_meta": about()})
        self.assert_error(-32601, "initialize", {"_meta": about()})
        self.assert_error(-32602, "resources/read", {"uri": "file:///x", "_meta": about()})

    def test_both_eras_share_a_connection(self) -> None:
        self.wire.modern("tools/call", {"name": "bash", "arguments": {"command": "x=kept"}})
        self.wire.initialize()
        self.assertEqual(text_of(self.wire.call("bash", command="echo $x")), "kept\n")


class Lines(Fresh):
    def error_of(self, line: bytes) -> tuple:
        self.wire.send_line(line)
        answer = self.wire.read()
        return answer["id"], answer["error"]["code"]

    def test_what_is_no_message_costs_itself_only(self) -> None:
        self.assertEqual(self.error_of(b"{nonsense"), (None, -32700))
        self.assertEqual(self.error_of(b"\xff\xfe"), (None, -32700))
        self.assertEqual(self.error_of(b"[]"), (None, -32600))
        self.assertEqual(self.error_of(b"7"), (None, -32600))
        self.assertEqual(self.error_of(b'{"jsonrpc":"2.0","id":null,"method":"ping"}'), (None, -32600))
        self.assertEqual(self.error_of(b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}'), (None, -32600))
        self.assertEqual(self.error_of(b'{"jsonrpc":"1.0","id":3,"method":"ping"}'), (3, -32600))
        self.assertEqual(self.error_of(b'{"jsonrpc":"2.0","id":"a","method":7}'), ("a", -32600))
        self.assertEqual(self.error_of(b'{"jsonrpc":"2.0","id":4,"method":"ping","params":[]}'), (4, -32602))
        self.assertEqual(self.error_of(b'{"jsonrpc":"2.0","id":5}'), (5, -32600))
        self.assertEqual(self.error_of(b'{"jsonrpc":"2.0","id":6,"method":"x","a":' + b"[" * 80 + b"]" * 80 + b"}"), (6, -32600))
        self.wire.send_line(b"")
        self.wire.notify("notifications/nobody/knows")
        self.wire.send_message(id="cloche-1", result={})  # an answer to nothing
        self.assertEqual(self.wire.ask("ping"), {})

    def test_a_line_may_be_long_and_not_longer(self) -> None:
        text = "x" * (8 << 20)
        self.wire.call("write_file", path="long", content=text)
        self.assertEqual(self.wire.call("bash", command="wc -c <long")["structuredContent"]["stdout"], "8388608\n")
        self.assertEqual(self.error_of(b'"' + b"x" * (65 << 20) + b'"'), (None, -32700))
        self.assertEqual(self.wire.ask("ping"), {})

    def test_an_id_that_is_in_use_is_refused(self) -> None:
        self.wire.send_message(id="a", method="tools/call", params={"name": "bash", "arguments": {"command": "sleep 1000"}})
        self.assertEqual(self.error_of(b'{"jsonrpc":"2.0","id":"a","method":"ping"}'), ("a", -32600))


class Calls(WireTest):
    def test_sandboxes_work_side_by_side(self) -> None:
        self.call("sandbox_create", name="other")
        slow = self.wire.begin("bash", command="sleep 1000")
        self.assertEqual(text_of(self.call("bash", command="echo quick", sandbox="other")), "quick\n")
        self.call("process", action="list")  # overtakes in the same sandbox
        self.wire.notify("notifications/cancelled", {"requestId": slow})
        self.assertEqual(text_of(self.call("bash", command="echo next")), "next\n")

    def test_calls_for_one_sandbox_run_in_order(self) -> None:
        numbers = [self.wire.begin("bash", command=f"sleep 0.0{9 - i}; echo {i} >>order") for i in range(6)]
        for number in numbers:
            self.wire.wait(number)
        self.assertEqual(text_of(self.call("bash", command="tr '\\n' ' ' <order")), "0 1 2 3 4 5 ")

    def test_a_cancelled_command_ends_with_its_tree_and_gets_no_answer(self) -> None:
        self.call("bash", command="x=kept; f() { echo function; }; cd /tmp")
        number = self.wire.begin("bash", command="touch begun; (sleep 1000 & sleep 1000); sleep 1000")
        while self.call("sandbox_list")["structuredContent"]["sandboxes"][0]["processes"] < 4:
            pass
        self.wire.notify("notifications/cancelled", {"requestId": number})
        result = self.call("bash", command="echo $x; f; pwd; ps | grep -c 'sleep 100[0]'")
        self.assertEqual(text_of(result), "kept\nfunction\n/tmp\n0\n[exit code 1]")
        self.assertNotIn(number, self.wire.answers)

    def test_a_cancelled_python_keeps_its_names(self) -> None:
        self.call("python", code="x = 41")
        number = self.wire.begin("python", code="import time\nwhile True: time.sleep(0.01)")
        self.wire.notify("notifications/cancelled", {"requestId": number})
        self.assertEqual(self.call("python", code="x + 1")["structuredContent"]["result"], "42")
        self.assertNotIn(number, self.wire.answers)

    def test_one_that_waits_is_cancelled_too(self) -> None:
        first = self.wire.begin("bash", command="sleep 1000")
        second = self.wire.begin("bash", command="touch second")
        self.wire.notify("notifications/cancelled", {"requestId": second})
        self.wire.notify("notifications/cancelled", {"requestId": first})
        self.assertEqual(self.call("bash", command="ls -a /workspace | grep -c second")["structuredContent"]["stdout"], "0\n")

    def test_progress_tells_the_last_line(self) -> None:
        number = self.wire.send("tools/call", {
            "name": "bash", "arguments": {"command": "printf 'one\\ntwo\\n'; sleep 1000"},
            "_meta": {"progressToken": "p"}})
        first = self.wire.wait_other("notifications/progress")["params"]
        second = self.wire.wait_other("notifications/progress")["params"]
        self.wire.notify("notifications/cancelled", {"requestId": number})
        self.assertEqual((first["progressToken"], first["message"]), ("p", "two"))
        self.assertGreater(second["progress"], first["progress"])


class Asked(WireTest):
    """The user is asked before the network is opened."""

    capabilities = {"elicitation": {}}

    def allow(self, answer) -> dict:
        number = self.wire.begin("network", action="allow", rules=["example.com:443"], reason="to look")
        question = self.wire.wait_other("elicitation/create")
        self.assertIn("example.com:443", question["params"]["message"])
        self.assertIn("to look", question["params"]["message"])
        self.assertEqual(question["params"]["requestedSchema"]["properties"]["allow"]["type"], "boolean")
        self.wire.send_message(id=question["id"], **answer)
        return self.wire.wait(number)

    def test_who_says_yes_opens_it(self) -> None:
        result = self.allow({"result": {"action": "accept", "content": {"allow": True}}})
        self.assertFalse(result["isError"], result)
        self.assertEqual(result["structuredContent"]["rules"], ["example.com:443"])
        self.assertEqual(self.call("network", action="show")["structuredContent"]["rules"], ["example.com:443"])
        self.assertEqual(self.call("network", action="revoke", rules=["example.com:443"])["structuredContent"]["rules"], [])

    def test_anything_else_opens_nothing(self) -> None:
        for answer in ({"result": {"action": "accept", "content": {"allow": False}}},
                       {"result": {"action": "accept", "content": {"allow": "true"}}},
                       {"result": {"action": "accept"}}, {"result": {"action": "decline"}},
                       {"result": {"action": "cancel"}}, {"error": {"code": -1, "message": "no"}}):
            result = self.allow(answer)
            self.assertTrue(result["isError"], answer)
            self.assertIn("--allow 'example.com:443'", text_of(result))
            self.assertEqual(self.call("network", action="show")["structuredContent"]["rules"], [])

    def test_a_new_sandbox_s_rules_are_asked_for_too(self) -> None:
        number = self.wire.begin("sandbox_create", name="open", network=["example.com"])
        question = self.wire.wait_other("elicitation/create")
        self.wire.send_message(id=question["id"], result={"action": "decline"})
        self.assertTrue(self.wire.wait(number)["isError"])
        self.assertEqual(self.call("sandbox_list")["structuredContent"]["sandboxes"], [])

    def test_a_cancelled_question(self) -> None:
        number = self.wire.begin("network", action="allow", rules=["example.com"])
        self.wire.wait_other("elicitation/create")
        self.wire.notify("notifications/cancelled", {"requestId": number})
        self.assertEqual(self.call("network", action="show")["structuredContent"]["rules"], [])


class AskedInTheModernEra(Fresh):
    CALL = {"name": "network", "arguments": {"action": "allow", "rules": ["example.com:443"]}}
    CAN = {"elicitation": {"form": {}}}
    YES = {"action": "accept", "content": {"allow": True}}

    def question(self) -> tuple[str, str]:
        result = self.wire.modern("tools/call", self.CALL, self.CAN)
        self.assertEqual(result["resultType"], "input_required")
        (key, asked), = result["inputRequests"].items()
        self.assertEqual(asked["method"], "elicitation/create")
        return key, result["requestState"]

    def test_the_answer_comes_with_the_call(self) -> None:
        key, state = self.question()
        answered = {**self.CALL, "inputResponses": {key: self.YES}, "requestState": state}
        result = self.wire.modern("tools/call", answered, self.CAN)
        self.assertEqual(result["structuredContent"]["rules"], ["example.com:443"])
        with self.assertRaises(WireError) as caught:  # once
            self.wire.modern("tools/call", answered, self.CAN)
        self.assertEqual(caught.exception.code, -32602)

    def test_an_answer_to_another_question_opens_nothing(self) -> None:
        key, state = self.question()
        for other in ({**self.CALL, "arguments": {"action": "allow", "rules": ["evil.example"]}},
                      {"name": "sandbox_create", "arguments": {"network": ["example.com:443"]}}):
            with self.assertRaises(WireError):
                self.wire.modern("tools/call", {**other, "inputResponses": {key: self.YES}, "requestState": state}, self.CAN)
        for state in ("", "x", "a.b.c"):
            with self.assertRaises(WireError):
                self.wire.modern("tools/call", {**self.CALL, "inputResponses": {key: self.YES}, "requestState": state}, self.CAN)
        self.assertEqual(self.wire.modern("tools/call", {"name": "network", "arguments": {"action": "show"}})["structuredContent"]["rules"], [])

    def test_who_cannot_be_asked(self) -> None:
        for capabilities in ({}, {"elicitation": {"url": {}}}):
            result = self.wire.modern("tools/call", self.CALL, capabilities)
            self.assertTrue(result["isError"])
            self.assertIn("--allow", text_of(result))


class Ends(Fresh):
    def assert_ends(self) -> None:
        self.assertEqual(self.wire.process.wait(timeout=100), 0)

    def test_what_was_asked_before_the_end_of_input_is_answered(self) -> None:
        self.wire.call("bash", command=":")
        number = self.wire.begin("bash", command="echo last")
        self.wire.process.stdin.close()
        self.assertEqual(text_of(self.wire.wait(number)), "last\n")
        self.assert_ends()

    def test_what_goes_on_is_not_waited_for(self) -> None:
        self.wire.call("bash", command="sleep 1000", background=True)
        self.wire.begin("bash", command="while :; do :; done")
        self.wire.begin("python", code="while True: pass")
        self.wire.process.stdin.close()
        self.assert_ends()

    def test_sigterm(self) -> None:
        self.wire.begin("bash", command="sleep 1000")
        self.wire.ask("ping")
        self.wire.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.wire.process.wait(timeout=100), -signal.SIGTERM)

    def test_nothing_but_messages_on_standard_output(self) -> None:
        self.wire.initialize()
        self.wire.call("bash", command="echo x; echo y >&2")
        self.wire.process.stdin.close()
        while line := self.wire.read_line():
            self.assertEqual(json.loads(line)["jsonrpc"], "2.0")
        self.assert_ends()


if __name__ == "__main__":
    unittest.main()
