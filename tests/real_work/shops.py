# SPDX-License-Identifier: Apache-2.0
"""Where programs get packages from, on this machine's loopback: an index of wheels, a registry of npm, a repository of Debian's
packages, and repositories of git.

    with Shops(supplies) as shops:
        shops.rule        # localhost:PORT, for the network of a sandbox
        shops.url         # http://127.0.0.1:PORT, or https://localhost:PORT where they have a certificate
        shops.requests    # what was asked for: (path, Authorization or None)
"""
import base64
import hashlib
import html
import http.server
import json
import ssl
import subprocess
import tarfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Optional
from urllib.parse import unquote


@dataclass
class Supplies:
    images: Path
    wheels: Path
    npm: Path
    debian: Path


def name_of_wheel(path: Path) -> str:
    return path.name.partition("-")[0].replace("_", "-").lower()


class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "Server"

    def log_message(self, *_):
        pass

    def answer(self, text: str, kind: str) -> None:
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        shops = self.server.shops
        path = unquote(self.path.partition("?")[0])
        shops.requests.append((path, self.headers.get("Authorization")))
        if page := shops.page(path):
            self.answer(*page)
        elif file := shops.file(path):
            self.path = path
            self.file = file
            super().do_GET()
        else:
            self.send_error(404)

    def translate_path(self, path: str) -> str:
        return str(self.file)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256
    shops: "Shops"

    def handle_error(self, *_):
        pass


class Shops:
    def __init__(self, supplies: Supplies, folder: Path, certificate: Optional[str] = None):
        """`folder` is for what is made here; a folder NAME of it is served as /NAME/."""
        self.supplies, self.folder = supplies, folder
        self.requests: list[tuple[str, Optional[str]]] = []
        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.shops = self
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        port = self.server.server_address[1]
        self.rule = f"localhost:{port}"
        # Node tries ::1 alone for a name that has both.
        self.url = f"https://{self.rule}" if certificate else f"http://127.0.0.1:{port}"
        self.wheels = {name_of_wheel(path): path for path in supplies.wheels.glob("*.whl")}
        self.archives = {path.name: path for path in supplies.npm.glob("*.tgz")}
        self.packuments = self.describe_archives()
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02})

    def __enter__(self) -> "Shops":
        self.thread.start()
        return self

    def __exit__(self, *_) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def describe_archives(self) -> dict[str, dict]:
        """What npm's registry says of each package: its own description, and where its archive is."""
        found = {}
        for name, path in self.archives.items():
            data = path.read_bytes()
            with tarfile.open(path) as archive:
                own = next(member for member in archive if member.name.endswith("/package.json") and member.name.count("/") == 1)
                described = json.loads(archive.extractfile(own).read())
            described["dist"] = {"tarball": f"{self.url}/archives/{name}",
                                 "integrity": "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()}
            version = described["version"]
            found[described["name"]] = {"name": described["name"], "dist-tags": {"latest": version},
                                        "versions": {version: described}}
        return found

    def page(self, path: str) -> Optional[tuple[str, str]]:
        if path.startswith("/simple/") and (wheel := self.wheels.get(path.split("/")[2])):
            digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
            return f'<a href="/wheels/{html.escape(wheel.name)}#sha256={digest}">{html.escape(wheel.name)}</a>', "text/html"
        if path.startswith("/npm/") and (packument := self.packuments.get(path.removeprefix("/npm/"))):
            return json.dumps(packument), "application/json"
        return None

    def file(self, path: str) -> Optional[Path]:
        words = path.split("/")[1:]
        if ".." in words:
            return None
        kind, name = words[0], "/".join(words[1:])
        if kind == "wheels":
            return next((wheel for wheel in self.wheels.values() if wheel.name == name), None)
        if kind == "archives":
            return self.archives.get(name)
        found = self.folder / kind / name
        return found if found.is_file() else None

    def make_debian_repository(self) -> None:
        """/debian/, a flat one, whose packages stand in no list that anybody has signed."""
        place = self.folder / "debian"
        place.mkdir()
        for package in self.supplies.debian.glob("*.deb"):
            (place / package.name.replace("%3a", ".")).symlink_to(package)
        listed = subprocess.run(["dpkg-scanpackages", "--multiversion", "."], cwd=place, stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, check=True)
        (place / "Packages").write_bytes(listed.stdout)

    def make_git_repository(self, name: str, files: dict[str, str]) -> None:
        """/git/NAME.git with one commit of these, for anybody to clone."""
        work, bare = self.folder / f"{name}-work", self.folder / "git" / f"{name}.git"
        work.mkdir()
        for path, text in files.items():
            (work / path).parent.mkdir(parents=True, exist_ok=True)
            (work / path).write_text(text)
        as_somebody = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org"]
        for words in (["git", "init", "-q", "-b", "main"], ["git", "add", "."], [*as_somebody, "commit", "-q", "-m", "first"],
                      ["git", "clone", "-q", "--bare", ".", str(bare)], ["git", "-C", str(bare), "update-server-info"]):
            subprocess.run(words, cwd=work, check=True, stdout=subprocess.DEVNULL)
