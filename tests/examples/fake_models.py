# SPDX-License-Identifier: Apache-2.0
"""A server that answers as three model APIs do, with one model behind all of them: it writes a program, runs it, and
says what it has read. It checks what it is sent as the APIs would."""
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = "a-key"
COMMANDS = ["printf 'print(6 * 7)\\n' > answer.py; cd /tmp", "pwd; python3 /workspace/answer.py; cat /no/such"]


def next_words(results: list) -> str:
    """What the model says when it has read all that its commands printed."""
    return f"The answer is {results[1].splitlines()[1]}."


class Wrong(Exception):
    """What an API would refuse."""


def require(is_so, what: str) -> None:
    if not is_so:
        raise Wrong(what)


def anthropic(headers, body: dict) -> dict:
    require(headers["x-api-key"] == KEY and headers["anthropic-version"], "headers")
    require(body["max_tokens"] > 0 and body["tools"][0]["input_schema"]["type"] == "object", "tools")
    results = []
    for at, message in enumerate(body["messages"]):
        require(message["role"] == ("user", "assistant")[at % 2], "roles alternate")
        if at and message["role"] == "user":
            part, = message["content"]
            require((part["type"], part["tool_use_id"]) == ("tool_result", f"use-{len(results)}"), "tool results")
            results.append(part["content"])
    if len(results) == len(COMMANDS):
        return {"content": [{"type": "text", "text": next_words(results)}], "stop_reason": "end_turn"}
    return {"content": [{"type": "text", "text": "Let me see."},
                        {"type": "tool_use", "id": f"use-{len(results)}", "name": "bash",
                         "input": {"command": COMMANDS[len(results)]}}], "stop_reason": "tool_use"}


def openai(headers, body: dict) -> dict:
    require(headers["Authorization"] == f"Bearer {KEY}", "headers")
    require(body["tools"][0]["type"] == "function" and body["tools"][0]["function"]["parameters"], "tools")
    results = [message["content"] for message in body["messages"] if message["role"] == "tool"]
    ids = [message["tool_call_id"] for message in body["messages"] if message["role"] == "tool"]
    require(ids == [f"call-{at}" for at in range(len(ids))], "tool results")
    if len(results) == len(COMMANDS):
        message = {"role": "assistant", "content": next_words(results)}
    else:
        function = {"name": "bash", "arguments": json.dumps({"command": COMMANDS[len(results)]})}
        message = {"role": "assistant", "content": None,
                   "tool_calls": [{"id": f"call-{len(results)}", "type": "function", "function": function}]}
    return {"choices": [{"message": message}]}


def google(headers, body: dict) -> dict:
    require(headers["x-goog-api-key"] == KEY, "headers")
    require(body["tools"][0]["functionDeclarations"][0]["name"] == "bash", "tools")
    results = []
    for at, content in enumerate(body["contents"]):
        require(content["role"] == ("user", "model")[at % 2], "roles alternate")
        results += [part["functionResponse"]["response"]["output"] for part in content["parts"] if "functionResponse" in part]
    if len(results) == len(COMMANDS):
        parts = [{"text": next_words(results)}]
    else:
        parts = [{"functionCall": {"name": "bash", "args": {"command": COMMANDS[len(results)]}}}]
    return {"candidates": [{"content": {"role": "model", "parts": parts}}]}


ROUTES = {"/v1/messages": anthropic, "/v1/chat/completions": openai, "/v1beta/models/a-model:generateContent": google}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:  # noqa: N802
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        try:
            status, answer = 200, ROUTES[self.path](self.headers, body)
        except (Wrong, KeyError, ValueError) as problem:
            status, answer = 400, {"error": repr(problem)}
        text = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        pass


class Models:
    """The server, as long as it is entered; `url`."""

    def __enter__(self) -> "Models":
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
