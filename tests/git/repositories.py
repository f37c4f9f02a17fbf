# SPDX-License-Identifier: Apache-2.0
"""Repositories behind HTTP with TLS on the loopback, by git-http-backend of the machine's git."""
import base64
import os
import ssl
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from certificates import self_signed


def git(*arguments, cwd=None):
    named = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    for who in "AUTHOR", "COMMITTER":
        named |= {f"GIT_{who}_NAME": "a", f"GIT_{who}_EMAIL": "a@example.com"}
    done = subprocess.run(["git", *arguments], cwd=cwd, env={**os.environ, **named}, capture_output=True, text=True, check=True)
    return done.stdout.strip()


class Server(ThreadingHTTPServer):
    def handle_error(self, request, address):
        """A client that speaks no TLS, or leaves."""


class Repositories:
    """The bare repositories of a folder. What is below /private/ wants this user and password."""

    def __init__(self, folder, user, password):
        self.folder = folder
        self.asked = []
        self.trusted, key = self_signed(folder, "localhost")
        repositories = self
        wanted = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def body(self):
                if self.headers.get("transfer-encoding") != "chunked":
                    return self.rfile.read(int(self.headers.get("content-length", 0)))
                pieces = []
                while size := int(self.rfile.readline(), 16):
                    pieces.append(self.rfile.read(size))
                    self.rfile.readline()
                self.rfile.readline()
                return b"".join(pieces)

            def answer(self):
                repositories.asked.append(f"{self.command} {self.path}")
                body = self.body()
                if self.path.startswith("/private/") and self.headers.get("authorization") != wanted:
                    self.reply(401, [("WWW-Authenticate", "Basic realm=\"repositories\"")], b"")
                else:
                    self.reply(*repositories.backend(self.command, self.path, self.headers, body))

            def reply(self, status, headers, content):
                self.send_response(status)
                for name, value in headers:
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = answer

            def log_message(self, *_):
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.trusted, key)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self.server.server_address[1]
        self.url = f"https://localhost:{self.port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def make(self, name, files):
        """A repository with one commit of these files."""
        at = self.folder / f"{name}.git"
        git("init", "-q", "--bare", "-b", "master", at)
        git("config", "http.receivepack", "true", cwd=at)
        git("config", "uploadpack.allowFilter", "true", cwd=at)
        work = self.folder / "work" / name
        work.mkdir(parents=True)
        git("init", "-q", "-b", "master", cwd=work)
        for file, content in files.items():
            (work / file).write_bytes(content)
        git("add", "-A", cwd=work)
        git("commit", "-q", "-m", "one", cwd=work)
        git("push", "-q", at, "master", "master:other", cwd=work)
        return at

    def backend(self, method, path, headers, body):
        """(status, headers, content) by git-http-backend."""
        path, _, query = path.partition("?")
        environment = {**os.environ, "GIT_PROJECT_ROOT": str(self.folder), "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path, "QUERY_STRING": query,
                       "REQUEST_METHOD": method, "CONTENT_TYPE": headers.get("content-type", ""), "CONTENT_LENGTH": str(len(body)), "REMOTE_USER": "a",
                       "GIT_PROTOCOL": headers.get("git-protocol", ""), "HTTP_CONTENT_ENCODING": headers.get("content-encoding", ""),
                       "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
        said = subprocess.run(["git", "http-backend"], input=body, env=environment, capture_output=True, check=False).stdout
        head, _, content = said.partition(b"\r\n\r\n")
        fields = [line.partition(": ")[::2] for line in head.decode().split("\r\n")]
        status = next((int(value.split()[0]) for name, value in fields if name == "Status"), 200)
        return status, [field for field in fields if field[0] != "Status"], content

    def close(self):
        self.server.shutdown()
        self.server.server_close()
