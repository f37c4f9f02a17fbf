# SPDX-License-Identifier: Apache-2.0
"""A registry of npm on the loopback, with the packages that it is given."""
import base64
import hashlib
import io
import json
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def archive(files):
    """A .tgz as npm packs it."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as tar:
        for name, text in files.items():
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size = len(text)
            entry.mode = 0o644
            tar.addfile(entry, io.BytesIO(text.encode()))
    return made.getvalue()


class Registry:
    def __init__(self):
        self.packages, self.archives, self.asked = {}, {}, []
        registry = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):  # pylint: disable=invalid-name
                registry.asked.append(self.path)
                name = self.path[1:].replace("%2f", "/")
                if self.path in registry.archives:
                    self.answer(200, registry.archives[self.path], "application/octet-stream")
                elif name in registry.packages:
                    self.answer(200, json.dumps(registry.packages[name]).encode())
                else:
                    self.answer(404, b'{"error":"Not found"}')

            def do_POST(self):  # pylint: disable=invalid-name
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                self.answer(200, b"{}")

            def answer(self, status, body, kind="application/json"):
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def add(self, described, files, integrity=None):
        name, version = described["name"], described["version"]
        data = archive({"package.json": json.dumps(described), **files})
        path = f"/-/{name}-{version}.tgz"
        self.archives[path] = data
        told = integrity or "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()
        dist = {"tarball": f"http://127.0.0.1:{self.port}{path}", "integrity": told}
        known = self.packages.setdefault(name, {"name": name, "dist-tags": {}, "versions": {}})
        known["dist-tags"]["latest"] = version
        known["versions"][version] = {**described, "dist": dist}

    def close(self):
        self.server.shutdown()
        self.server.server_close()
