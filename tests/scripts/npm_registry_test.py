# SPDX-License-Identifier: Apache-2.0
"""scripts/npm_registry.py against a registry of this test.

    npm_registry_test.py SOURCE
"""
import base64
import http.server
import json
import os
import pathlib
import sys
import tempfile
import threading
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(sys.argv.pop(1)) / "scripts"))
import npm_registry  # noqa: E402

ARCHIVE = b"an archive\0" * 100


class Registry(http.server.BaseHTTPRequestHandler):
    asked: list[tuple[str, str | None]] = []
    elsewhere = ""

    def do_GET(self):
        self.asked.append((self.path, self.headers["Authorization"]))
        here = f"http://127.0.0.1:{self.server.server_port}"
        described = {"/npm/plain/1.0.0": f"{here}/npm/plain/-/plain-1.0.0.tgz", "/npm/@own%2Fpart/2.0.0": f"{here}/npm/moved.tgz",
                     "/npm/odd/1.0.0": "file:///etc/passwd"}
        if self.path in described:
            return self.answer(200, json.dumps({"dist": {"tarball": described[self.path]}}).encode())
        if self.path == "/npm/empty/1.0.0":
            return self.answer(200, b"{}")
        if self.path == "/npm/moved.tgz":
            return self.answer(302, b"", [("Location", f"{Registry.elsewhere}/there.tgz")])
        if self.path.endswith(".tgz"):
            return self.answer(200, ARCHIVE)
        self.answer(404, b"{}")

    def answer(self, status, body, fields=()):
        self.send_response(status)
        for name, value in [*fields, ("Content-Length", str(len(body)))]:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class NpmRegistry(unittest.TestCase):
    def setUp(self):
        Registry.asked = []
        servers = [http.server.ThreadingHTTPServer(("127.0.0.1", 0), Registry) for _ in range(2)]
        for server in servers:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            self.addCleanup(server.server_close)
            self.addCleanup(server.shutdown)
        self.place = f"127.0.0.1:{servers[0].server_port}"
        Registry.elsewhere = f"http://localhost:{servers[1].server_port}"
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.npmrc = pathlib.Path(folder.name) / "npmrc"
        clean = {name: value for name, value in os.environ.items() if "npm_config" not in name.lower() and "_proxy" not in name.lower()}
        patch = mock.patch.dict(os.environ, clean | {"NPM_CONFIG_USERCONFIG": str(self.npmrc), "THE_TOKEN": "t0k"}, clear=True)
        patch.start()
        self.addCleanup(patch.stop)

    def set_up(self, *lines):
        self.npmrc.write_text("".join(f"{line}\n" for line in (f"registry=http://{self.place}/npm", *lines)))

    def test_an_archive_comes_as_it_is(self):
        self.set_up()
        self.assertEqual(npm_registry.archive("plain", "1.0.0"), ARCHIVE)
        self.assertEqual(Registry.asked, [("/npm/plain/1.0.0", None), ("/npm/plain/-/plain-1.0.0.tgz", None)])

    def test_a_token_goes_to_its_registry_and_to_nobody_else(self):
        self.set_up(f"//{self.place}/npm/:_authToken=${{THE_TOKEN}}")
        self.assertEqual(npm_registry.archive("@own/part", "2.0.0"), ARCHIVE)
        self.assertEqual(Registry.asked, [("/npm/@own%2Fpart/2.0.0", "Bearer t0k"), ("/npm/moved.tgz", "Bearer t0k"), ("/there.tgz", None)])

    def test_a_name_and_a_password(self):
        self.set_up(f"//{self.place}/:username=u", f"//{self.place}/:_password={base64.b64encode(b'p:w').decode()}")
        npm_registry.archive("plain", "1.0.0")
        self.assertEqual(Registry.asked[0][1], "Basic " + base64.b64encode(b"u:p:w").decode())

    def test_a_scope_has_a_registry_of_its_own_and_the_environment_wins(self):
        self.npmrc.write_text(f"registry=http://127.0.0.1:9/\n@own:registry=http://{self.place}/npm/\n")
        self.assertEqual(npm_registry.archive("@own/part", "2.0.0"), ARCHIVE)
        with mock.patch.dict(os.environ, {"npm_config_registry": f"http://{self.place}/npm/"}):
            self.assertEqual(npm_registry.archive("plain", "1.0.0"), ARCHIVE)

    def test_what_cannot_be_had_is_said(self):
        self.set_up()
        for name, why in (("none", "404"), ("odd", "file:///etc/passwd is no address"), ("empty", "names no archive")):
            with self.subTest(name), self.assertRaisesRegex(npm_registry.Unavailable, why):
                npm_registry.archive(name, "1.0.0")
        with mock.patch.object(npm_registry, "ARCHIVE_MAX_BYTES", 100), self.assertRaisesRegex(npm_registry.Unavailable, "larger than"):
            npm_registry.archive("plain", "1.0.0")
        with mock.patch.dict(os.environ, {"NPM_CONFIG_REGISTRY": "http://127.0.0.1:9/"}), self.assertRaisesRegex(npm_registry.Unavailable, "refused"):
            npm_registry.archive("plain", "1.0.0")


if __name__ == "__main__":
    unittest.main()
