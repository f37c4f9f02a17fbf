# SPDX-License-Identifier: Apache-2.0
"""`cloche serve` that fails, asked at the doors of agents and of programs for E2B, whose sandboxes end with it."""
import base64
import json
import struct

from served import Serving
from subject import Trouble

PIPELINE = "set -o pipefail; number=$(seq 300 | sort -rn | tail -n 1) && echo last $number"


class Agents(Serving):
    """Sandboxes by the Model Context Protocol."""

    acts = ["discover", "bash", "python", "write", "read", "make", "fork", "snapshot", "restore"]

    def prepare(self):
        self.written = {b"none"}  # what the file may be
        self.call("bash", command="echo none > kept")

    def request(self, method, params):
        about = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": about}}
        fields = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method}
        if "name" in params:
            fields["Mcp-Name"] = params["name"]
        return self.ask("POST", "/mcp", message, headers=fields)

    def call(self, tool, **arguments):
        """The text of the result; nothing where there is none, or it is an error."""
        status, body = self.request("tools/call", {"name": tool, "arguments": arguments})
        if status != 200:
            return None
        try:
            text = body.decode()
            last = text.rstrip().rpartition("data: ")[2] if text.startswith(("data:", "event:", ":")) else text
            answer = json.loads(last)
        except ValueError as problem:
            raise Trouble(f"no answer: {body[:300]!r}") from problem
        result = answer.get("result", {"isError": True})
        return None if result.get("isError") else "".join(part.get("text", "") for part in result["content"])

    def discover(self):
        self.request("server/discover", {})
        self.request("tools/list", {})

    def bash(self):
        said = self.call("bash", command=PIPELINE) or ""
        if "last" in said and "last 1\n" not in said:
            raise Trouble(f"bash says something else: {said}")

    def python(self):
        said = self.call("python", code="print(6 * 7)")
        if said not in (None, "42\n") and "[stopped after" not in said:
            raise Trouble(f"python says something else: {said!r}")

    def write(self):
        content = f"{self.draw.getrandbits(64):x}" * 100
        done = self.call("write_file", path="kept", content=content)
        self.written = {content.encode()} if done is not None else {*self.written, content.encode()}

    def read(self):
        self.call("read_file", path="/etc/passwd")
        self.call("list_files", path="/usr/bin")

    def make(self):
        self.call("sandbox_create", name="more")
        self.call("bash", command="echo x > f; cat f", sandbox="more")
        self.call("sandbox_delete", sandbox="more")

    def fork(self):
        self.call("sandbox_fork", names=["twin"])
        self.call("bash", command="cat kept | wc -c", sandbox="twin")
        self.call("sandbox_delete", sandbox="twin")

    def snapshot(self):
        self.call("snapshot", action="save", name="then")
        self.call("bash", command="echo more > f")
        self.call("snapshot", action="restore", name="then")
        self.call("snapshot", action="delete", name="then")

    def restore(self):
        self.restart_anew(lambda: [self.bash(), self.python()])

    def check(self):
        super().check()
        for name in ("more", "twin"):
            self.call("sandbox_delete", sandbox=name)
        self.call("snapshot", action="delete", name="then")
        there = self.call("bash", command="cat kept")
        if there is None or there.encode().strip(b"\n") not in self.written:
            raise Trouble(f"what was written is lost: {there}")
        self.written = {there.encode().strip(b"\n")}


def framed(message) -> bytes:
    text = json.dumps(message).encode()
    return struct.pack(">BI", 0, len(text)) + text


class E2b(Serving):
    """Sandboxes of programs for E2B, with processes, files and the code interpreter."""

    acts = ["make", "run", "upload", "download", "cell", "context", "pause", "fork", "watch", "restore"]
    KEY = {"X-API-KEY": "key"}
    AGENT, CODE = 49983, 49999

    def prepare(self):
        self.uploads = {b""}
        status, body = self.ask("POST", "/v2/sandboxes", {"templateID": "base", "timeout": 3000}, headers=self.KEY)
        if status != 201:
            raise Trouble(f"there is no sandbox: {status} {body[:300]!r}")
        self.box = json.loads(body)
        if self.agent("POST", "/files?path=up", b"", **{"Content-Type": "application/octet-stream"})[0] != 200:
            raise Trouble("there is no file")

    def rest(self, method, action="", body=None, box=None):
        return self.ask(method, f"/sandboxes/{(box or self.box)['sandboxID']}{action}", body, headers=self.KEY)

    def agent(self, method, path, body=None, port=AGENT, box=None, **headers):
        box = box or self.box
        token = {"X-Access-Token": box["envdAccessToken"]} if box.get("envdAccessToken") else {}
        return self.ask(method, path, body, headers={
            "E2b-Sandbox-Id": box["sandboxID"], "E2b-Sandbox-Port": str(port), **token, **headers})

    def process(self, command, box=None):
        """What it printed; nothing where it was not started, or has no end."""
        message = {"process": {"cmd": "/bin/bash", "args": ["-l", "-c", command]}, "stdin": False}
        status, body = self.agent("POST", "/process.Process/Start", framed(message), box=box,
                                  **{"Content-Type": "application/connect+json"})
        said, has_end = b"", False
        while status == 200 and len(body) >= 5:
            flags, size = struct.unpack(">BI", body[:5])
            event = {} if flags == 2 else json.loads(body[5:5 + size])["event"]
            said += base64.b64decode(event.get("data", {}).get("stdout", ""))
            has_end = has_end or "end" in event
            body = body[5 + size:]
        return said if has_end else None

    def make(self):
        status, body = self.ask("POST", "/v2/sandboxes", {"templateID": "base", "timeout": 60}, headers=self.KEY)
        if status == 201:
            box = json.loads(body)
            self.process("echo hi | cat", box)
            self.rest("DELETE", box=box)
        self.ask("GET", "/v2/sandboxes", headers=self.KEY)

    def run(self):
        said = self.process(PIPELINE) or b""
        if b"last" in said and b"last 1\n" not in said:
            raise Trouble(f"a process says something else: {said}")

    def upload(self):
        content = self.draw.randbytes(40_000)
        status, _ = self.agent("POST", "/files?path=up", content, **{"Content-Type": "application/octet-stream"})
        self.uploads = {content} if status == 200 else {*self.uploads, content}

    def download(self):
        self.agent("GET", "/files?path=up")
        self.agent("POST", "/filesystem.Filesystem/ListDir", {"path": "/usr", "depth": 1}, **{"Content-Type": "application/json"})

    def cell(self):
        self.agent("POST", "/execute", {"code": "print(6 * 7)", "context_id": None, "language": None, "env_vars": None}, port=self.CODE)

    def context(self):
        status, body = self.agent("POST", "/contexts", {"language": "bash"}, port=self.CODE)
        if status in (200, 201):
            name = json.loads(body)["id"]
            self.agent("POST", "/execute", {"code": "echo hi", "context_id": name}, port=self.CODE)
            self.agent("DELETE", f"/contexts/{name}", port=self.CODE)

    def pause(self):
        self.rest("POST", "/pause", {})
        self.rest("POST", "/connect", {"timeout": 3000})

    def fork(self):
        status, body = self.rest("POST", "/fork", {"count": 1, "timeout": 60})
        if status in (200, 201):
            for fork in json.loads(body):
                made = fork.get("sandbox") or fork
                if "sandboxID" in made:
                    self.rest("DELETE", box=made)

    def watch(self):
        status, body = self.agent("POST", "/filesystem.Filesystem/CreateWatcher", {"path": "/home/user", "recursive": True},
                                  **{"Content-Type": "application/json"})
        if status == 200:
            name = json.loads(body)["watcherId"]
            for call in ("GetWatcherEvents", "RemoveWatcher"):
                self.agent("POST", f"/filesystem.Filesystem/{call}", {"watcherId": name}, **{"Content-Type": "application/json"})

    def restore(self):
        self.restart_anew(self.make)

    def check(self):
        super().check()
        self.rest("POST", "/connect", {"timeout": 3000})
        status, boxes = self.ask("GET", "/v2/sandboxes", headers=self.KEY)
        for box in json.loads(boxes) if status == 200 else []:
            if box["sandboxID"] != self.box["sandboxID"]:
                self.rest("DELETE", box=box)
        status, up = self.agent("GET", "/files?path=up")
        if status != 200 or up not in self.uploads:
            raise Trouble(f"an upload is lost: {status}, {len(up)} bytes")
        self.uploads = {up}
