# SPDX-License-Identifier: Apache-2.0
"""What clients of the soak ask at doors that have a wire of their own; each act leaves nothing behind."""
import base64
import io
import json
import struct

MODERN = "2026-07-28"
AGENT, CODE = 49983, 49999  # ports of E2B's


def agent(server, token: str, name: str) -> None:
    """A model's sandbox: a shell, Python, files, a snapshot."""
    def call(tool, **arguments) -> str:
        about = {"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}}
        status, _, body = server.ask("POST", "/mcp", {
            "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments, "_meta": about}},
            token=token, headers={"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": MODERN,
                                  "Mcp-Method": "tools/call", "Mcp-Name": tool})
        assert status == 200, body
        text = body.decode()
        answer = json.loads(text if text.startswith("{") else text.rstrip().rpartition("data: ")[2])
        assert not answer["result"].get("isError"), answer
        return "".join(part.get("text", "") for part in answer["result"]["content"])

    call("sandbox_create", name=name)
    call("write_file", path="f", content="one", sandbox=name)
    call("snapshot", action="save", name="s" + name, sandbox=name)
    call("bash", command="echo two > f", sandbox=name)
    call("snapshot", action="restore", name="s" + name, sandbox=name)
    call("snapshot", action="delete", name="s" + name)
    said = call("bash", command="cat f; echo; seq 200 | sort -r | tail -1", sandbox=name), call("python", code="6 * 7", sandbox=name)
    assert said == ("one\n1\n", "42"), said
    call("sandbox_delete", sandbox=name)


def box_of_e2b(server, token: str, text: str) -> None:
    """A process, files, and a cell of a kernel."""
    key = {"X-API-KEY": token}
    status, _, body = server.ask("POST", "/v2/sandboxes", {"templateID": "base", "timeout": 300}, headers=key)
    assert status == 201, body
    box = json.loads(body)
    headers = {"E2b-Sandbox-Id": box["sandboxID"], "E2b-Sandbox-Port": str(AGENT), "X-Access-Token": box.get("envdAccessToken", "")}
    status, _, body = server.ask("POST", "/files?path=f", text.encode(), headers={**headers, "Content-Type": "application/octet-stream"})
    assert status == 200, body
    message = json.dumps({"process": {"cmd": "/bin/bash", "args": ["-c", "cat f; sleep 0.01 &"]}, "stdin": False}).encode()
    status, _, body = server.ask("POST", "/process.Process/Start", struct.pack(">BI", 0, len(message)) + message,
                                 headers={**headers, "Content-Type": "application/connect+json"})
    assert status == 200 and base64.b64encode(text.encode()) in body, body
    status, _, body = server.ask("POST", "/execute", {"code": f"print({text!r})", "context_id": None, "language": None, "env_vars": None},
                                 headers={**headers, "E2b-Sandbox-Port": str(CODE)})
    assert status == 200 and text.encode() in body, body
    assert server.ask("DELETE", f"/sandboxes/{box['sandboxID']}", headers=key)[0] == 204


def graded(ask) -> None:
    status, result = ask("POST", "/run_code", {"code": "print(6 * 7)", "language": "python"})
    assert status == 200 and "42" in json.dumps(result), (status, result)


def files_by_sftp(transport, content: bytes) -> None:
    import paramiko
    files = paramiko.SFTPClient.from_transport(transport)
    files.putfo(io.BytesIO(content), "by-sftp")
    back = io.BytesIO()
    files.getfo("by-sftp", back)
    assert back.getvalue() == content
    assert "by-sftp" in files.listdir(".")
    files.remove("by-sftp")
