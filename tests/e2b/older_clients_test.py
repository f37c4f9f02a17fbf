# SPDX-License-Identifier: Apache-2.0
"""Older clients of E2B, unmodified. They know no variable but E2B_DOMAIN, so the server has a certificate for that
name and all below it, and this machine is told that those names are its own."""
import os
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

from clients import run
from javascript_sdk_test import OLDEST_NODE
from server import Server, free_port

sys.path.insert(0, str(Path(__file__).parent.parent / "wires"))
from certificates import self_signed  # noqa: E402

DOMAIN = "box.test"
KEY = "e2b_0123456789"
# compatibility.md has them too.
PYTHON = [["e2b==1.11.1", "e2b-code-interpreter==1.5.2"], ["e2b==2.20.0", "e2b-code-interpreter==2.6.0"]]
JAVASCRIPT = ["e2b@1.13.2", "e2b@2.20.0"]

# What of these names is asked of the machine's resolver.
PYTHON_NAMES = f"""
import socket
ask = socket.getaddrinfo
def getaddrinfo(host, *rest, **more):
    name = host.decode() if isinstance(host, bytes) else host
    return ask("127.0.0.1" if name and name.endswith("{DOMAIN}") else host, *rest, **more)
socket.getaddrinfo = getaddrinfo
"""
JAVASCRIPT_NAMES = f"""
const dns = require('node:dns')
const ask = dns.lookup
dns.lookup = (host, ...rest) => ask(host.endsWith('{DOMAIN}') ? '127.0.0.1' : host, ...rest)
"""


class OlderClients(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not shutil.which("openssl"):
            raise unittest.SkipTest("there is no openssl on this machine, which makes the certificate")
        cls.folder = Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        certificate, key = map(str, self_signed(cls.folder, DOMAIN, f"*.{DOMAIN}"))
        port = free_port()
        cls.server = Server("serve", "--token", KEY, "--domain", f"{DOMAIN}:{port}", "--tls-cert", certificate,
                            "--tls-key", key, port=port)
        cls.addClassCleanup(cls.server.stop)
        (cls.folder / "sitecustomize.py").write_text(PYTHON_NAMES)
        (cls.folder / "names.cjs").write_text(JAVASCRIPT_NAMES)
        cls.environment = {
            **os.environ, "E2B_API_KEY": KEY, "E2B_DOMAIN": f"{DOMAIN}:{port}", "SSL_CERT_FILE": certificate,
            "PYTHONPATH": str(cls.folder), "NODE_EXTRA_CA_CERTS": certificate,
            "NODE_OPTIONS": f"--require {cls.folder / 'names.cjs'}"}

    def had(self, done):
        if done.returncode != 0:
            self.skipTest("the clients of E2B cannot be had from their index: " + (done.stderr + done.stdout)[-300:])

    def check(self, command, folder):
        done = run(command, cwd=folder, env=self.environment)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_python(self):
        for number, versions in enumerate(PYTHON):
            with self.subTest(versions=versions):
                folder = self.folder / f"python{number}"
                self.had(run([sys.executable, "-m", "venv", str(folder)]))
                python = str(folder / "bin/python")
                self.had(run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *versions]))
                program = Path(__file__).with_name("older_python_program.py")
                self.assertEqual(self.check([python, str(program)], folder), "done\n")

    def test_javascript(self):
        if not shutil.which("npm"):
            self.skipTest("there is no npm on this machine")
        version = run(["node", "--version"]).stdout.strip()
        if int(version.lstrip("v").partition(".")[0]) < OLDEST_NODE:
            self.skipTest(f"this client wants Node {OLDEST_NODE}, here is {version}")
        for number, client in enumerate(JAVASCRIPT):
            with self.subTest(client=client):
                folder = self.folder / f"javascript{number}"
                folder.mkdir()
                (folder / "package.json").write_text('{"private": true}')
                self.had(run(["npm", "install", "--silent", "--no-audit", "--no-fund", client], cwd=folder))
                shutil.copy(Path(__file__).with_name("older_javascript_program.mjs"), folder / "program.mjs")
                self.check(["node", "program.mjs"], folder)


if __name__ == "__main__":
    unittest.main(verbosity=2)
