# SPDX-License-Identifier: Apache-2.0
"""A tool server for test_mount that may be asked to behave badly: tool_server.py [MODE]."""
import base64
import json
import os
import signal
import sys
import time

MODE = sys.argv[1] if len(sys.argv) > 1 else "good"
PICTURE = b"\x89PNG\r\n\x1a\n\0picture"
TEXT = {"type": "string"}


def send(**message) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def tool(name: str, about: str = "", required: tuple = (), /, **properties) -> dict:
    return {"name": name, "description": about or f"Does {name}.",
            "inputSchema": {"type": "object", "properties": properties, "required": list(required)}}


TOOLS = [
    tool("greet", "Greets somebody.\nMore of it.", ("name",), name={**TEXT, "description": "Who"}, times={"type": "integer"},
         loud={"type": "boolean"}),
    tool("repeat", "", ("text",), text=TEXT, count={"type": "integer"}),
    tool("picture"), tool("fail"), tool("refuse"), tool("variables"), tool("number"), tool("die"), tool("flood"), tool("long"),
    tool("ask"), tool("nonsense"), tool("unreadable"), tool("slow", "", ("told",), told=TEXT), tool("deaf", "", ("told",), told=TEXT),
]


def listed(cursor: str) -> dict:
    if MODE == "clash":
        return {"tools": [tool("ls")]}
    if MODE == "word":
        return {"tools": [tool("a b")]}
    if MODE == "many":
        return {"tools": [tool(f"t{number}") for number in range(300)]}
    if MODE == "endless":
        return {"tools": [], "nextCursor": "more"}
    if MODE == "unlisted":
        return {"tools": 1}
    # Two pages.
    return {"tools": TOOLS[5:]} if cursor else {"tools": TOOLS[:5], "nextCursor": "next"}


def text(words: str, **more) -> dict:
    return {"content": [{"type": "text", "text": words}], **more}


def call(name: str, given: dict):
    """The result; None: none comes of it."""
    if name == "greet":
        words = "\n".join(["hello " + given["name"]] * given.get("times", 1))
        return text(words.upper() if given.get("loud") else words)
    if name == "repeat":
        return text(given["text"] * given.get("count", 1))
    if name == "picture":
        return {"content": [{"type": "text", "text": "a picture"},
                            {"type": "image", "mimeType": "image/png", "data": base64.b64encode(PICTURE).decode()}]}
    if name == "fail":
        return text("it cannot", isError=True)
    if name == "variables":
        return text(json.dumps({**os.environ, "cwd": os.getcwd()}))
    if name == "number":
        return text(str(os.getpid()))
    if name == "nonsense":
        sys.stdout.write("no message\n{}\n[1]\nnull\n" + json.dumps({"id": 10 ** 30, "result": 1}) + "\n")
        send(id=12345678, result=text("nobody's"))
        send(id="x", error=1)
        return text("still here")
    if name == "unreadable":
        return text("told", structuredContent={"n": float("nan")})
    if name == "die":
        os._exit(3)
    if name == "flood":
        line = json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "x" * 100_000}}) + "\n"
        while True:
            sys.stdout.write(line)
    if name == "long":
        while True:
            sys.stdout.write("x" * 100_000)
    if name == "deaf":
        open(given["told"], "w").close()
        time.sleep(10_000)
    return None


def serve() -> None:
    slow: dict = {}  # request: the file that is to be made when it is cancelled
    asked = None
    for line in sys.stdin:
        message = json.loads(line)
        number, method, params = message.get("id"), message.get("method"), message.get("params") or {}
        if method == "initialize":
            if MODE == "refusing":
                send(id=number, error={"code": -32602, "message": "not with you"})
                continue
            send(id=number, result={"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                                    "serverInfo": {"name": "test", "version": "1"}})
        elif method == "tools/list":
            send(id=number, result=listed(params.get("cursor", "")))
        elif method == "notifications/cancelled" and params["requestId"] in slow:
            with open(slow.pop(params["requestId"]), "w") as file:
                file.write(params["reason"])
        elif method == "tools/call" and params["name"] == "slow":
            slow[number] = params["arguments"]["told"]
            open(slow[number] + ".begun", "w").close()
        elif method == "tools/call" and params["name"] == "ask":
            asked = number
            send(id="question", method="sampling/createMessage", params={})
        elif method == "tools/call" and params["name"] == "refuse":
            send(id=number, error={"code": -32000, "message": "not today"})
        elif method == "tools/call":
            send(id=number, result=call(params["name"], params["arguments"]))
        elif method is None and number == "question":
            send(id=asked, result=text(str(message["error"]["code"])))


if __name__ == "__main__":
    if MODE == "dead":
        sys.exit(1)
    if MODE == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    serve()
    if MODE == "stubborn":
        time.sleep(10_000)
