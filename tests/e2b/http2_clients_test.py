# SPDX-License-Identifier: Apache-2.0
"""E2B's own clients, unmodified, over TLS, where they offer HTTP/2, and so speak it."""
import os
import shutil
import socket
import subprocess
import sys
import unittest
from pathlib import Path

import javascript_sdk_test
import python_sdk_test
from clients import run

sys.path.insert(0, str(Path(__file__).parent.parent / "http"))
from http2 import TlsServer  # noqa: E402
from server import PATIENCE_S  # noqa: E402

KEY = "e2b_0123456789"


def serve(cls):
    if not shutil.which("openssl"):
        raise unittest.SkipTest("there is no openssl on this machine, which makes the certificate")
    cls.server = TlsServer(cls.folder, "serve", "--token", KEY, "--allow-session-net", "*.example.com")
    cls.addClassCleanup(cls.server.stop)
    # The clients look names up by themselves.
    url = f"https://localhost:{cls.server.port}"
    cls.environment = {**os.environ, "E2B_API_KEY": KEY, "E2B_API_URL": url, "E2B_SANDBOX_URL": url,
                       "SSL_CERT_FILE": cls.server.authority, "NODE_EXTRA_CA_CERTS": cls.server.authority}


class PythonClients(python_sdk_test.PythonClients):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server.stop()
        serve(cls)

    def test_the_client_offers_http2(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            url = f"https://localhost:{listener.getsockname()[1]}"
            program = subprocess.Popen([self.python, "-c", "import e2b; e2b.Sandbox.create()"], stderr=subprocess.DEVNULL,
                                       env={**self.environment, "E2B_API_URL": url})
            listener.settimeout(PATIENCE_S)
            with listener.accept()[0] as sock:
                self.assertIn(b"\x02h2", sock.recv(65536))  # the hello of TLS
            program.kill()
            program.wait()

    def test_many_requests_on_one_connection(self):
        done = run([self.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "httpx[http2]"])
        if done.returncode != 0:
            self.skipTest("httpx cannot be had from its index: " + done.stderr[-300:])
        program = """
import asyncio, os, httpx
async def main():
    async with httpx.AsyncClient(http2=True, base_url=os.environ["E2B_API_URL"], timeout=200) as client:
        answers = await asyncio.gather(*[client.get(f"/v1/health?{i}") for i in range(300)])
        assert {(each.http_version, each.status_code) for each in answers} == {("HTTP/2", 200)}, answers
        assert len(client._transport._pool.connections) == 1
asyncio.run(main())
print("done")
"""
        self.assertEqual(self.check([self.python, "-c", program]), "done\n")


class JavaScriptClient(javascript_sdk_test.JavaScriptClient):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server.stop()
        serve(cls)


if __name__ == "__main__":
    unittest.main(verbosity=2)
