# SPDX-License-Identifier: Apache-2.0
"""A registry for tests: serves repositories of blobs and manifests by OCI's distribution API, and misbehaves as told.

    with Registry() as registry:
        digest = registry.add_image("a/b", "1", [layer({"file": b"text"})])
        # registry.host is localhost:PORT

registry.requests has what was asked: (method, path, Authorization or None). `misbehave` is called with the handler
and the path before anything else, and returns True when it has answered."""

import gzip
import hashlib
import http.server
import io
import json
import platform
import ssl
import tarfile
import threading
from collections.abc import Callable

OCI = "application/vnd.oci.image."
DOCKER = "application/vnd.docker."
ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]


def sha256(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def layer(files: dict[str, bytes]) -> bytes:
    """A tar of these files."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            info.mode = 0o755
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def packed(data: bytes) -> bytes:
    """As gzip, the same each time."""
    return gzip.compress(data, mtime=0)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "Server"

    def log_message(self, *_):
        pass

    def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        registry = self.server.registry
        registry.requests.append((self.command, self.path, self.headers.get("Authorization")))
        try:
            if registry.misbehave is None or not registry.misbehave(self, self.path):
                registry.serve(self)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    registry: "Registry"

    def handle_error(self, *_):
        pass


class Registry:
    def __init__(self, certificate: str | None = None):
        self.blobs: dict[str, bytes] = {}
        self.manifests: dict[tuple[str, str], tuple[str, bytes]] = {}
        self.requests: list[tuple[str, str, str | None]] = []
        self.misbehave: Callable[[Handler, str], bool | None] | None = None
        self.wants: str | None = None  # the Authorization that is asked for
        self.challenge = ""
        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.registry = self
        self.scheme = "http"
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
            self.scheme = "https"
        self.port = self.server.server_address[1]
        self.host = f"localhost:{self.port}"
        self.url = f"{self.scheme}://{self.host}"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02})

    def __enter__(self) -> "Registry":
        self.thread.start()
        return self

    def __exit__(self, *_) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def add_blob(self, data: bytes) -> str:
        self.blobs[sha256(data)] = data
        return sha256(data)

    def put(self, repository: str, version: str, kind: str, value: object) -> str:
        text = json.dumps(value).encode()
        for name in (version, sha256(text)):
            self.manifests[repository, name] = (kind, text)
        return sha256(text)

    def describe(self, kind: str, data: bytes, **more: object) -> dict:
        return {"mediaType": kind, "digest": self.add_blob(data), "size": len(data), **more}

    def add_image(self, repository: str, tag: str, layers: list[bytes], kind: str = "oci", pack=packed,
                  suffix: str = "gzip", architecture: str = ARCHITECTURE, **changes: object) -> str:
        config = json.dumps({"architecture": architecture, "os": "linux", "config": {"Env": ["PULLED=yes"]}}).encode()
        names = {"oci": (OCI + "manifest.v1+json", OCI + "config.v1+json", OCI + "layer.v1.tar+"),
                 "docker": (DOCKER + "distribution.manifest.v2+json", DOCKER + "container.image.v1+json",
                            DOCKER + "image.rootfs.diff.tar.")}[kind]
        manifest = {"schemaVersion": 2, "mediaType": names[0], "config": self.describe(names[1], config),
                    "layers": [self.describe(names[2] + suffix, pack(data)) for data in layers], **changes}
        return self.put(repository, tag, names[0], manifest)

    def add_index(self, repository: str, tag: str, entries: list[dict], kind: str = OCI + "index.v1+json") -> str:
        return self.put(repository, tag, kind, {"schemaVersion": 2, "mediaType": kind, "manifests": entries})

    def serve(self, handler: Handler) -> None:
        if self.wants is not None and handler.headers.get("Authorization") != self.wants:
            handler.answer(401, b'{"errors":[{"message":"who are you"}]}', WWW_Authenticate=self.challenge)
            return
        words = handler.path.split("/")
        repository, what, version = "/".join(words[2:-2]), words[-2], words[-1]
        if what == "manifests" and (repository, version) in self.manifests:
            kind, text = self.manifests[repository, version]
            handler.answer(200, text, Content_Type=kind)
        elif what == "blobs" and version in self.blobs:
            data = self.blobs[version]
            asked = handler.headers.get("Range", "")
            if asked.startswith("bytes="):
                start = int(asked.removeprefix("bytes=").rstrip("-"))
                handler.answer(206, data[start:], Content_Range=f"bytes {start}-{len(data) - 1}/{len(data)}")
            else:
                handler.answer(200, data)
        else:
            handler.answer(404, b'{"errors":[{"code":"NAME_UNKNOWN","message":"nothing\\u0007 here"}]}')
