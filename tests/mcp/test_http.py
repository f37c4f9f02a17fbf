# SPDX-License-Identifier: Apache-2.0
"""/mcp of `cloche serve`: both eras, tokens, sessions, fields, streams of events, cancelling."""
import base64
import http.client
import json
import os
import re
import socket
import subprocess
import threading
import time
import unittest

from wire import MODERN, PROGRAM, about, text_of

TOKEN, OTHER = "alices-token", "bobs-token"
ACCEPT = "application/json, text/event-stream"
WAIT_SECONDS = 120


class Server:
    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen([PROGRAM, "serve", "--port", "0", *arguments], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            if found := re.search(r"listening.*http://[^:]+:(\d+)", line):
                self.port = int(found[1])
                break
        else:
            raise AssertionError("the server does not start")
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(timeout=60)
        self.process.stderr.close()


class Answer:
    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.fields = {name.lower(): value for name, value in response.getheaders()}
        self.body = response.read()

    @property
    def messages(self) -> list:
        if self.fields.get("content-type") != "text/event-stream":
            return [json.loads(self.body)]
        events = [event for event in self.body.decode().split("\n\n") if not event.startswith(":")]
        return [json.loads(event.split("data: ", 1)[1]) for event in events if event]

    @property
    def result(self) -> dict:
        last = self.messages[-1]
        assert "result" in last, last
        return last["result"]

    @property
    def error(self) -> dict:
        return self.messages[-1]["error"]


class HttpTest(unittest.TestCase):
    arguments = ("--token", TOKEN, "--token", OTHER)

    @classmethod
    def setUpClass(cls) -> None:
        cls.server = Server(*cls.arguments)
        cls.addClassCleanup(cls.server.close)

    def request(self, method: str, body=None, token=TOKEN, **fields) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=WAIT_SECONDS)
        self.addCleanup(connection.close)
        all_fields = {"Accept": ACCEPT, "Content-Type": "application/json"}
        if token:
            all_fields["Authorization"] = f"Bearer {token}"
        all_fields.update({name.replace("_", "-"): value for name, value in fields.items()})
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        connection.request(method, "/mcp", body, {name: value for name, value in all_fields.items() if value is not None})
        return Answer(connection.getresponse())

    @staticmethod
    def modern_request(method: str, params=None, **meta) -> dict:
        return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**(params or {}), "_meta": about(**meta)}}

    def modern(self, method: str, params=None, token=TOKEN, fields=None, **meta) -> Answer:
        its = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method}
        if name := (params or {}).get("name", (params or {}).get("uri")):
            its["Mcp-Name"] = name
        return self.request("POST", self.modern_request(method, params, **meta), token, **{**its, **(fields or {})})

    def call(self, tool: str, token=TOKEN, **arguments) -> dict:
        return self.modern("tools/call", {"name": tool, "arguments": arguments}, token).result

    def open(self, token=TOKEN, capabilities=None) -> str:
        answer = self.request("POST", {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": capabilities or {}, "clientInfo": {"name": "x", "version": "1"}}}, token)
        self.assertEqual(answer.result["protocolVersion"], "2025-06-18")
        return answer.fields["mcp-session-id"]

    def legacy(self, session: str, method: str, params=None, token=TOKEN, number=1, **fields) -> Answer:
        return self.request("POST", {"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}}, token,
                            Mcp_Session_Id=session, **fields)

    def legacy_call(self, session: str, tool: str, token=TOKEN, **arguments) -> dict:
        return self.legacy(session, "tools/call", {"name": tool, "arguments": arguments}, token).result


class Door(HttpTest):
    def test_who_may(self) -> None:
        for token in (None, "wrong"):
            answer = self.request("POST", self.modern_request("server/discover"), token)
            self.assertEqual((answer.status, answer.fields["www-authenticate"]), (401, "Bearer"))

    def test_pages_of_others_and_other_names(self) -> None:
        body = self.modern_request("server/discover")
        self.assertEqual(self.request("POST", body, Origin="https://evil.example").status, 403)
        self.assertEqual(self.request("POST", body, Host="evil.example").status, 403)

    def test_what_is_no_message(self) -> None:
        self.assertEqual(self.request("POST", self.modern_request("tools/list"), Accept="application/json").status, 406)
        self.assertEqual(self.request("POST", "{}", Content_Type="text/plain").status, 415)
        for body in ("{", "[]", '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', "{}"):
            answer = self.request("POST", body)
            self.assertEqual(answer.status, 400)
            self.assertIn("error", answer.messages[0])
        self.assertEqual(self.request("PUT", "{}").status, 405)


class Modern(HttpTest):
    def test_a_call(self) -> None:
        answer = self.modern("tools/call", {"name": "bash", "arguments": {"command": "echo hi"}})
        self.assertEqual((answer.status, answer.fields["content-type"]), (200, "application/json"))
        self.assertEqual(text_of(answer.result), "hi\n")
        self.assertNotIn("mcp-session-id", answer.fields)

    def test_fields_say_what_the_body_says(self) -> None:
        params = {"name": "bash", "arguments": {"command": "echo hi"}}
        for fields in ({"Mcp-Name": "python"}, {"Mcp-Name": None}, {"Mcp-Method": "tools/list"}, {"Mcp-Method": None},
                       {"MCP-Protocol-Version": "2025-11-25"}, {"MCP-Protocol-Version": None}, {"Mcp-Name": "=?base64?????=?="}):
            answer = self.modern("tools/call", params, fields=fields)
            self.assertEqual((answer.status, answer.error["code"]), (400, -32020), fields)
        encoded = "=?base64?" + base64.b64encode(b"bash").decode() + "?="
        self.assertEqual(self.modern("tools/call", params, fields={"Mcp-Name": encoded}).status, 200)

    def test_errors_have_a_status(self) -> None:
        answer = self.modern("no/such")
        self.assertEqual((answer.status, answer.error["code"]), (404, -32601))
        answer = self.modern("tools/list", version="2031-01-01", fields={"MCP-Protocol-Version": "2031-01-01"})
        self.assertEqual((answer.status, answer.error["code"]), (400, -32022))
        answer = self.request("POST", {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}},
                              MCP_Protocol_Version=MODERN, Mcp_Method="tools/list")
        self.assertEqual((answer.status, answer.error["code"]), (400, -32602))
        self.assertEqual(self.modern("tools/call", {"name": "nothing"}).status, 400)

    def test_no_sessions(self) -> None:
        for method in ("GET", "DELETE"):
            self.assertEqual(self.request(method, MCP_Protocol_Version=MODERN).status, 405)
        self.assertEqual(self.request("POST", {"jsonrpc": "2.0", "method": "notifications/x"}, MCP_Protocol_Version=MODERN).status, 202)

    def test_names_are_the_token_s(self) -> None:
        self.call("bash", command="echo alice >f")
        self.call("bash", token=OTHER, command="echo bob >f")
        self.assertEqual(text_of(self.call("bash", command="cat f")), "alice\n")
        self.assertEqual(text_of(self.call("bash", token=OTHER, command="cat f")), "bob\n")
        self.call("sandbox_create", name="mine")
        self.assertNotIn("mine", text_of(self.call("sandbox_list", token=OTHER)))
        self.assertTrue(self.call("bash", token=OTHER, command=":", sandbox="mine")["isError"])

    def test_progress_is_a_stream_of_events(self) -> None:
        answer = self.modern("tools/call", {"name": "bash", "arguments": {"command": "echo one; sleep 1.2"}}, progressToken=7)
        self.assertEqual((answer.fields["content-type"], answer.fields["x-accel-buffering"]), ("text/event-stream", "no"))
        *progress, last = answer.messages
        self.assertEqual({message["params"]["progressToken"] for message in progress}, {7})
        self.assertEqual(progress[0]["params"]["message"], "one")
        self.assertEqual(text_of(last["result"]), "one\n")

    def test_who_closes_the_connection_cancels(self) -> None:
        self.call("bash", command=":")
        body = json.dumps(self.modern_request("tools/call", {"name": "bash", "arguments": {"command": "sleep 1000"}})).encode()
        for meta in (b"", b"x"):
            connection = socket.create_connection(("127.0.0.1", self.server.port))
            connection.sendall((f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\nAccept: {ACCEPT}\r\n"
                                f"Content-Type: application/json\r\nMCP-Protocol-Version: {MODERN}\r\nMcp-Method: tools/call\r\n"
                                f"Mcp-Name: bash\r\nContent-Length: {len(body)}\r\n\r\n").encode() + body)
            self.assertTrue(connection.recv(4096).startswith(b"HTTP/1.1 200"))
            connection.close()
            self.assertEqual(text_of(self.call("bash", command="echo next")), "next\n")

    def test_sandboxes_that_go_while_their_python_runs(self) -> None:
        for number in range(60):
            name = f"goes-{number}"
            self.call("sandbox_create", name=name)
            self.call("python", sandbox=name, code="x = 1")
            running = threading.Thread(target=lambda name=name: self.call("python", sandbox=name, code="while True: pass"))
            running.start()
            self.call("sandbox_delete", sandbox=name)
            running.join(WAIT_SECONDS)
            self.assertFalse(running.is_alive())
        self.assertEqual(text_of(self.call("python", code="6 * 7")), "42")

    def test_the_user_is_asked(self) -> None:
        params = {"name": "network", "arguments": {"action": "allow", "rules": ["a.example"]}}
        asked = self.modern("tools/call", params, capabilities={"elicitation": {}}).result
        self.assertEqual(asked["resultType"], "input_required")
        params.update(requestState=asked["requestState"], inputResponses={"consent": {"action": "accept", "content": {"allow": True}}})
        answer = self.modern("tools/call", params, token=OTHER, capabilities={"elicitation": {}})
        self.assertEqual(answer.error["code"], -32602)  # it was the other one who was asked
        self.assertEqual(self.modern("tools/call", params, capabilities={"elicitation": {}}).result["structuredContent"]["rules"], ["a.example"])

    def test_listening_ends_with_the_server(self) -> None:
        server = Server("--token", TOKEN)
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=WAIT_SECONDS)
        self.addCleanup(connection.close)
        connection.request("POST", "/mcp", json.dumps(self.modern_request(
            "subscriptions/listen", {"notifications": {"resourceSubscriptions": ["sandbox://default/workspace/f"]}})), {
                "Accept": ACCEPT, "Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}",
                "MCP-Protocol-Version": MODERN, "Mcp-Method": "subscriptions/listen"})
        response = connection.getresponse()
        first = json.loads(response.readline() and response.readline().split(b"data: ", 1)[1])
        self.assertEqual(first["method"], "notifications/subscriptions/acknowledged")
        server.close()
        rest = response.read().decode()
        self.assertIn('"io.modelcontextprotocol/subscriptionId":1', rest)
        self.assertIn('"result"', rest)


class Legacy(HttpTest):
    def test_a_session(self) -> None:
        session = self.open()
        self.assertRegex(session, r"^[\x21-\x7e]+$")
        self.legacy_call(session, "bash", command="x=1")
        answer = self.legacy(session, "tools/call", {"name": "bash", "arguments": {"command": "echo $x"}})
        self.assertEqual(text_of(answer.result), "1\n")
        self.assertNotIn("resultType", answer.result)
        notified = self.request("POST", {"jsonrpc": "2.0", "method": "notifications/initialized"}, Mcp_Session_Id=session)
        self.assertEqual((notified.status, notified.body), (202, b""))
        self.assertEqual(self.request("DELETE", Mcp_Session_Id=session).status, 204)
        self.assertEqual(self.legacy(session, "ping").status, 404)

    def test_whose_it_is(self) -> None:
        session = self.open()
        self.assertEqual(self.legacy(session, "ping", token=OTHER).status, 404)
        self.assertEqual(self.request("DELETE", token=OTHER, Mcp_Session_Id=session).status, 404)
        self.assertEqual(self.legacy("nothing", "ping").status, 404)
        self.assertEqual(self.request("POST", {"jsonrpc": "2.0", "id": 1, "method": "ping"}).status, 400)
        self.assertEqual(self.legacy(session, "ping", MCP_Protocol_Version="1999-01-01").status, 400)
        self.assertEqual(self.legacy(session, "ping").result, {})

    def test_names_of_the_session_and_of_the_token(self) -> None:
        one, two = self.open(), self.open()
        self.legacy_call(one, "bash", command="echo one >f")
        self.assertEqual(text_of(self.legacy_call(two, "bash", command="ls | wc -l")), "0\n")
        self.legacy_call(one, "sandbox_create", name="shared")
        self.legacy_call(one, "bash", command="echo shared >f", sandbox="shared")
        self.request("DELETE", Mcp_Session_Id=one)
        self.assertEqual(text_of(self.legacy_call(two, "bash", command="cat f", sandbox="shared")), "shared\n")
        self.assertEqual(text_of(self.call("bash", command="cat f", sandbox="shared")), "shared\n")
        self.legacy_call(two, "sandbox_delete", sandbox="shared")

    def test_what_nobody_gave_a_name_is_not_shared_with_sessions(self) -> None:
        self.call("bash", command="echo modern >f")
        forks = self.call("sandbox_fork")["structuredContent"]["sandboxes"]
        session = self.open()
        self.assertEqual(text_of(self.legacy_call(session, "bash", command="ls | wc -l")), "0\n")
        listed = self.legacy_call(session, "sandbox_list")["structuredContent"]["sandboxes"]
        self.assertEqual([each["name"] for each in listed], ["default"])
        self.legacy_call(session, "sandbox_delete", sandbox="default")
        self.assertEqual(text_of(self.call("bash", command="cat f", sandbox=forks[0])), "modern\n")
        self.assertEqual(text_of(self.call("bash", command="cat f")), "modern\n")
        self.call("sandbox_delete", sandbox=forks[0])

    def test_the_user_is_asked_on_the_stream_of_the_call(self) -> None:
        session = self.open(capabilities={"elicitation": {}})
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=WAIT_SECONDS)
        self.addCleanup(connection.close)
        connection.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {
            "name": "network", "arguments": {"action": "allow", "rules": ["a.example"]}}}), {
                "Accept": ACCEPT, "Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}", "Mcp-Session-Id": session})
        response = connection.getresponse()
        self.assertEqual(response.getheader("Content-Type"), "text/event-stream")
        response.readline()
        question = json.loads(response.readline().split(b"data: ", 1)[1])
        self.assertEqual(question["method"], "elicitation/create")
        answered = self.request("POST", {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {"allow": True}}},
                                Mcp_Session_Id=session)
        self.assertEqual(answered.status, 202)
        self.assertIn('"rules":["a.example"]', response.read().decode())

    def test_cancelling_and_what_is_no_cancelling(self) -> None:
        session = self.open()
        self.legacy_call(session, "bash", command=":")
        gone = http.client.HTTPConnection("127.0.0.1", self.server.port)
        gone.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": {
            "name": "bash", "arguments": {"command": "sleep 0.5; echo went on >f"}, "_meta": {"progressToken": 1}}}), {
                "Accept": ACCEPT, "Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}", "Mcp-Session-Id": session})
        gone.getresponse().close()
        gone.close()
        self.assertEqual(text_of(self.legacy_call(session, "bash", command="cat f")), "went on\n")
        waiting = threading.Thread(target=self.legacy, args=(session, "tools/call", {"name": "bash", "arguments": {"command": "sleep 1000"}}),
                                   kwargs={"number": 9})
        waiting.start()
        while text_of(self.legacy_call(session, "sandbox_list")).count(" 1 processes"):
            pass
        while waiting.is_alive():
            self.request("POST", {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}}, Mcp_Session_Id=session)
        waiting.join()
        self.assertEqual(text_of(self.legacy_call(session, "bash", command="echo next")), "next\n")

    def test_a_session_that_is_ended_answers_what_is_in_progress(self) -> None:
        for meta in ({}, {"_meta": {"progressToken": 1}}):
            session, answers = self.open(), []
            params = {"name": "bash", "arguments": {"command": "sleep 1000"}, **meta}
            call = threading.Thread(target=lambda: answers.append(self.legacy(session, "tools/call", params, number=8)))
            call.start()
            while " 2 processes" not in text_of(self.legacy_call(session, "sandbox_list")):
                pass
            self.assertEqual(self.request("DELETE", Mcp_Session_Id=session).status, 204)
            call.join()
            self.assertEqual((answers[0].status, answers[0].error["code"]), (200, -32603))
            self.assertIn("the session was ended", answers[0].error["message"])

    def test_events_of_a_session(self) -> None:
        session = self.open()
        uri = "sandbox://default/workspace/f"
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=WAIT_SECONDS)
        self.addCleanup(connection.close)
        connection.request("GET", "/mcp", None, {"Accept": "text/event-stream", "Authorization": f"Bearer {TOKEN}", "Mcp-Session-Id": session})
        response = connection.getresponse()
        self.assertEqual(response.status, 200)
        self.legacy_call(session, "bash", command="echo 1 >f")
        self.legacy(session, "resources/subscribe", {"uri": uri})
        self.legacy_call(session, "bash", command="echo 2 >>f")
        response.readline()
        self.assertEqual(json.loads(response.readline().split(b"data: ", 1)[1])["params"], {"uri": uri})
        self.request("DELETE", Mcp_Session_Id=session)
        self.assertEqual(response.read().strip(), b"")


class Shares(unittest.TestCase):
    def test_sessions_of_one_token_leave_places_to_others(self) -> None:
        server = Server("--token", TOKEN, "--token", OTHER)
        self.addCleanup(server.close)
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=WAIT_SECONDS)
        self.addCleanup(connection.close)
        begin = {"jsonrpc": "2.0", "id": 1, "method": "initialize",
                 "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}}

        def opens(token: str) -> bool:
            connection.request("POST", "/mcp", json.dumps(begin), {"Accept": ACCEPT, "Content-Type": "application/json",
                                                                   "Authorization": f"Bearer {token}"})
            response = connection.getresponse()
            response.read()
            self.assertIn(response.status, (200, 503))
            return response.status == 200

        most = 10_000
        opened = next(number for number in range(most + 1) if not opens(TOKEN))
        self.assertEqual(opened, most // 4 * 3)
        self.assertTrue(opens(OTHER))


class WithoutMemory(HttpTest):
    arguments = ("--memory-limit", "1M")

    def test_nothing_is_made_then(self) -> None:
        answer = self.modern("tools/call", {"name": "bash", "arguments": {"command": "echo hi"}}, token=None).result
        self.assertTrue(answer["isError"])
        self.assertIn("the server has no memory for more", text_of(answer))


class WithoutTokens(HttpTest):
    arguments = ("--allow-origin", "https://app.example")

    def test_everybody_on_this_machine(self) -> None:
        self.assertEqual(text_of(self.modern("tools/call", {"name": "bash", "arguments": {"command": "echo hi"}}, token=None).result), "hi\n")

    def test_a_page_that_is_allowed(self) -> None:
        answer = self.modern("server/discover", token=None, fields={"Origin": "https://app.example"})
        self.assertEqual((answer.status, answer.fields["access-control-allow-origin"]), (200, "https://app.example"))
        self.assertIn("Mcp-Session-Id", answer.fields["access-control-expose-headers"])


if __name__ == "__main__":
    unittest.main()
