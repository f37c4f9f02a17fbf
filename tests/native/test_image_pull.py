# SPDX-License-Identifier: Apache-2.0
"""cloche image pull, with a registry that does as it should, and with those that do not."""

import base64
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "wires"))
from certificates import self_signed  # noqa: E402
from registry import ARCHITECTURE, DOCKER, OCI, Registry, layer, packed, sha256  # noqa: E402

PROGRAM = os.environ["CLOCHE_BINARY"]
MANIFEST = OCI + "manifest.v1+json"


def zstd(data: bytes) -> bytes:
    return subprocess.run(["zstd", "-q", "-c"], input=data, stdout=subprocess.PIPE, check=True).stdout


class PullTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="cloche-pull-"))
        self.folder.chmod(0o755)
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.store = self.folder / "store"
        self.registry = self.enterContext(Registry())
        self.environment = {"CLOCHE_IMAGES": str(self.store), "HOME": str(self.folder), "PATH": os.environ["PATH"]}

    def cloche(self, *words: str, **environment: str) -> subprocess.CompletedProcess:
        return subprocess.run([PROGRAM, *words], env={**self.environment, **environment}, text=True, timeout=120,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def pull(self, image: str, *options: str, **environment: str) -> str:
        """Pulled as `test`; where the machine lets nothing be unpacked in a jail there is no more to be tested."""
        ended = self.cloche("image", "pull", image, "--name", "test", *options, **environment)
        if "cannot be jailed" in ended.stderr:
            self.skipTest(ended.stderr.strip())
        self.assertEqual((ended.returncode, ended.stderr), (0, ""), image)
        return ended.stdout

    def refused(self, image: str, *options: str, **environment: str) -> str:
        """The one sentence; and nothing is left of the image but what was right of its blobs."""
        ended = self.cloche("image", "pull", image, "--name", "test", *options, **environment)
        self.assertEqual((ended.returncode, ended.stdout), (2, ""), ended.stderr)
        self.assertEqual(ended.stderr.count("\n"), 1, ended.stderr)
        self.assertTrue(ended.stderr.startswith("cloche: ") and ended.stderr.isascii(), ended.stderr)
        left = [path for path in self.store.rglob("*") if path.is_file()]
        for path in left:
            self.assertEqual(sha256(path.read_bytes()), "sha256:" + path.name)
        self.assertFalse((self.store / "test").exists())
        return ended.stderr

    def files(self) -> dict[str, bytes]:
        root = self.store / "test" / "rootfs"
        return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}

    def asked(self, part: str) -> list[str]:
        return [path for _, path, _ in self.registry.requests if part in path]


class Registries(PullTest):
    def test_manifests_and_layers_of_both_kinds(self):
        for kind in ("oci", "docker"):
            for pack, suffix in ((packed, "gzip"), (zstd, "zstd")):
                with self.subTest(kind=kind, suffix=suffix):
                    lower = layer({"a": b"1", "b": b"1"})
                    upper = layer({".wh.a": b"", "c": suffix.encode()})
                    digest = self.registry.add_image("some/image", "v1", [lower, upper], kind, pack, suffix)
                    self.assertEqual(self.pull(f"{self.registry.host}/some/image:v1"), "test\n")
                    self.assertEqual(self.files(), {"b": b"1", "c": suffix.encode()})
                    listed = json.loads(self.cloche("image", "list", "--json").stdout)
                    self.assertEqual([(one["name"], one["digest"]) for one in listed], [("test", digest)])
                    self.pull(f"{self.registry.host}/some/image@{digest}")

    def test_the_name_is_the_reference_where_none_is_given(self):
        self.registry.add_image("image", "latest", [layer({"a": b"1"})])
        ended = self.cloche("image", "pull", f"docker://{self.registry.host}/image")
        if "cannot be jailed" in ended.stderr:
            self.skipTest(ended.stderr.strip())
        self.assertEqual((ended.stdout, ended.stderr), (f"{self.registry.host}/image\n", ""))

    def test_an_index_has_one_for_this_machine(self):
        ours = self.registry.add_image("i", "ours", [layer({"who": b"ours"})])
        other = self.registry.add_image("i", "other", [layer({"who": b"other"})], architecture="s390x")
        entries = [{"mediaType": MANIFEST, "digest": other, "size": 1, "platform": {"os": "linux", "architecture": "s390x"}},
                   {"mediaType": MANIFEST, "digest": other, "size": 1,
                    "platform": {"os": "unknown", "architecture": "unknown"}},
                   {"mediaType": MANIFEST, "digest": ours, "size": 1,
                    "platform": {"os": "linux", "architecture": ARCHITECTURE}}]
        for kind in (OCI + "index.v1+json", DOCKER + "distribution.manifest.list.v2+json"):
            inner = self.registry.add_index("i", "inner", entries, kind)
            self.registry.add_index("i", "outer", [{"mediaType": kind, "digest": inner, "size": 1}])
            self.pull(f"{self.registry.host}/i:outer")
            self.assertEqual(self.files(), {"who": b"ours"})
        self.cloche("image", "remove", "test")
        self.registry.add_index("i", "without", entries[:2])
        said = self.refused(f"{self.registry.host}/i:without")
        self.assertIn("linux/s390x", said)
        self.assertIn("linux/" + ARCHITECTURE, said)
        self.assertIn("s390x", self.refused(f"{self.registry.host}/i:other"))

    def test_blobs_are_brought_once_and_go_with_the_last_image(self):
        shared = layer({"shared": b"s" * 1000})
        self.registry.add_image("one", "1", [shared, layer({"x": b"1"})])
        self.registry.add_image("two", "1", [shared, shared, layer({"x": b"2"})])
        self.pull(f"{self.registry.host}/one:1")
        name = sha256(packed(shared))
        self.registry.requests.clear()
        self.assertEqual(self.cloche("image", "pull", f"{self.registry.host}/two:1", "--name", "two").returncode, 0)
        self.assertEqual(len(self.asked("/blobs/")), 1)  # the layer that differs; the configuration is the same
        self.registry.requests.clear()
        self.pull(f"{self.registry.host}/one:1")
        self.assertEqual(self.asked("/blobs/"), [])
        blobs = self.store / ".blobs" / "blobs" / "sha256"
        self.cloche("image", "remove", "test")
        self.assertEqual(len(list(blobs.iterdir())), 4, name)
        (blobs / ".part-1-of-one-that-was-killed").write_text("x")
        self.cloche("image", "remove", "two")
        self.assertEqual(list(blobs.iterdir()), [])

    def test_a_blob_that_was_damaged_here_is_brought_again(self):
        self.registry.add_image("one", "1", [layer({"x": b"1"})])
        self.pull(f"{self.registry.host}/one:1")
        for blob in (self.store / ".blobs" / "blobs" / "sha256").iterdir():
            blob.write_bytes(b"x" * blob.stat().st_size)
        shutil.rmtree(self.store / "test")
        self.pull(f"{self.registry.host}/one:1")
        self.assertEqual(self.files(), {"x": b"1"})

    def test_a_pulled_image_runs_where_boxes_can_be_made(self):
        files = {"bin/bash": Path("/bin/bash").read_bytes()}
        for word in subprocess.run(["ldd", "/bin/bash"], stdout=subprocess.PIPE, text=True, check=True).stdout.split():
            if word.startswith("/"):
                files[word[1:]] = Path(word).read_bytes()
        self.registry.add_image("busy", "1", [layer(files)])
        self.pull(f"{self.registry.host}/busy:1")
        ended = self.cloche("run", "--engine", "linux", "--image", "test", "echo $PULLED")
        if ended.returncode == 2:
            self.skipTest(ended.stderr.strip())
        self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (0, "yes\n", ""))


class WhoAsks(PullTest):
    def setUp(self):
        super().setUp()
        self.registry.add_image("private", "1", [layer({"x": b"1"})])
        self.image = f"{self.registry.host}/private:1"
        self.basic = "Basic " + base64.b64encode(b"anna:pass:word").decode()

    def auth_file(self, entry: dict, key: str | None = None) -> str:
        path = self.folder / "auth.json"
        path.write_text(json.dumps({"auths": {key or self.registry.host: entry}, "credsStore": "none"}))
        return str(path)

    def test_basic(self):
        self.registry.wants, self.registry.challenge = self.basic, 'Basic realm="here"'
        self.assertIn("--registry-auth", self.refused(self.image))
        token = self.basic.split()[1]
        self.pull(self.image, "--registry-auth", self.auth_file({"auth": token}))
        self.pull(self.image, REGISTRY_AUTH_FILE=self.auth_file({"username": "anna", "password": "pass:word"}))
        self.pull(self.image, CLOCHE_REGISTRY_USER="anna", CLOCHE_REGISTRY_PASSWORD="pass:word")
        docker = self.folder / ".docker"
        docker.mkdir()
        shutil.copy(self.auth_file({"auth": token}, f"https://{self.registry.host}"), docker / "config.json")
        self.pull(self.image)

    def test_wrong_ones_end_at_once(self):
        self.registry.wants, self.registry.challenge = self.basic, 'Basic realm="here"'
        said = self.refused(self.image, CLOCHE_REGISTRY_USER="anna", CLOCHE_REGISTRY_PASSWORD="other")
        self.assertIn("who are you", said)
        self.assertNotIn("other", said)
        self.assertEqual(len(self.registry.requests), 2)

    def test_files_that_are_none(self):
        for text in ("", "[]", '{"auths": {"%s": {"auth": "!"}}}' % self.registry.host):
            (self.folder / "bad.json").write_text(text)
            self.assertIn("credentials", self.refused(self.image, "--registry-auth", str(self.folder / "bad.json")))
        self.assertIn("cannot be read", self.refused(self.image, "--registry-auth", "/nowhere"))

    def token_server(self, answer: bytes, status: int = 200):
        def serve(handler, path):
            if not path.startswith("/token"):
                return False
            handler.answer(status, answer, Content_Type="application/json")
            return True
        self.registry.misbehave = serve
        self.registry.wants = "Bearer abc.def"
        self.registry.challenge = (f'Negotiate x==, Bearer realm="{self.registry.url}/token?account=me",service="the '
                                   f'\\"registry\\"",scope="repository:private:pull"')

    def test_a_token_is_asked_for_once(self):
        for answer in (b'{"token": "abc.def"}', b'{"access_token": "abc.def", "expires_in": 60}'):
            self.token_server(answer)
            self.registry.requests.clear()
            self.pull(self.image, CLOCHE_REGISTRY_USER="anna", CLOCHE_REGISTRY_PASSWORD="pass:word")
            [(_, path, who)] = [one for one in self.registry.requests if one[1].startswith("/token")]
            self.assertEqual(who, self.basic)
            self.assertEqual(path.split("?")[1].split("&")[0], "account=me")
            self.assertIn("%22registry%22", path)
            self.assertIn("repository%3aprivate%3apull", path.lower())

    def test_tokens_that_cannot_be_used(self):
        for answer in (b"", b"[]", b"{}", b'{"token": 7}', b'{"token": "a\\r\\nEvil: 1"}', b'{"token": ""}',
                       b'{"token": "' + b"a" * (2 << 20) + b'"}'):
            self.token_server(answer)
            self.refused(self.image)
        self.token_server(b"{}", 403)
        self.assertIn("403", self.refused(self.image))

    def test_tokens_that_are_refused_end_at_once(self):
        self.token_server(b'{"token": "another"}')
        self.refused(self.image)
        self.assertEqual(len(self.registry.requests), 3)

    def test_places_of_tokens_that_are_not_asked(self):
        self.registry.wants = "Bearer abc"
        for realm in ("http://192.0.2.1/token", "file:///etc/passwd", "ftp://localhost/x", "", "//x", "gopher://localhost",
                      "http://user:word@localhost/"):
            self.registry.challenge = f'Bearer realm="{realm}"'
            self.refused(self.image)
        for challenge in ("", "Bearer", "Digest realm=x", 'Bearer realm="open', ",,,=", "Basic"):
            self.registry.challenge = challenge
            self.refused(self.image)


class Hostile(PullTest):
    def setUp(self):
        super().setUp()
        self.content = layer({"x": os.urandom(300_000)})
        self.digest = self.registry.add_image("evil", "1", [self.content])
        self.image = f"{self.registry.host}/evil:1"
        self.blob = sha256(packed(self.content))

    def blobs(self, answer):
        """Layers and configurations are answered so."""
        self.registry.misbehave = lambda handler, path: "/blobs/" in path and (answer(handler) or True)

    def test_another_blob(self):
        self.blobs(lambda handler: handler.answer(200, b"another"))
        self.assertIn("forgery", self.refused(self.image))

    def test_one_bit(self):
        def flip(handler):
            data = bytearray(self.registry.blobs[handler.path.split("/")[-1]])
            data[-1] ^= 1
            handler.answer(200, bytes(data))
        self.blobs(flip)
        self.assertIn("forgery", self.refused(self.image))

    def test_another_manifest_than_the_digest_says(self):
        kind, text = self.registry.manifests["evil", "1"]
        self.registry.manifests["evil", self.digest] = (kind, text + b" ")
        self.assertIn("forgery", self.refused(f"{self.registry.host}/evil@{self.digest}"))

    def test_endless_bodies(self):
        def endless(handler):
            handler.send_response(200)
            handler.end_headers()
            handler.close_connection = True
            while True:
                handler.wfile.write(b" " * 65536)
        self.blobs(endless)
        self.assertIn("more for", self.refused(self.image))
        self.registry.misbehave = lambda handler, path: endless(handler)
        self.assertIn("manifest is longer", self.refused(self.image))

        def endless_error(handler, path):
            handler.send_response(418)
            handler.end_headers()
            handler.close_connection = True
            while True:
                handler.wfile.write(b" " * 65536)
        self.registry.misbehave = endless_error
        self.assertIn("418", self.refused(self.image))

        def endless_head(handler, path):
            handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
            while True:
                handler.wfile.write(b"X-More: " + b"x" * 1000 + b"\r\n")
        self.registry.misbehave = endless_head
        self.refused(self.image)

    def test_truncated_blobs_are_brought_to_their_end(self):
        cut = []

        def truncated(handler, path):
            if not path.endswith(self.blob) or len(cut) == 3:
                return False
            data = self.registry.blobs[self.blob]
            start = int(handler.headers.get("Range", "bytes=0-").removeprefix("bytes=").rstrip("-"))
            cut.append(start)
            handler.send_response(206 if start else 200)
            handler.send_header("Content-Length", str(len(data) - start))
            if start:
                handler.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
            handler.end_headers()
            handler.wfile.write(data[start:start + 100_000])
            handler.close_connection = True
            return True
        self.registry.misbehave = truncated
        self.pull(self.image)
        self.assertEqual(cut, sorted(set(cut)))
        self.assertEqual(len(self.files()["x"]), 300_000)

    def test_truncated_for_ever(self):
        def truncated(handler):
            handler.send_response(200)
            handler.send_header("Content-Length", "1000000")
            handler.end_headers()
            handler.close_connection = True
        self.blobs(truncated)
        self.assertIn(self.registry.host, self.refused(self.image))
        self.assertEqual(len(self.asked("/blobs/")), 4)

    def test_other_parts_than_asked(self):
        self.blobs(lambda handler: handler.answer(206, b"x", Content_Range="bytes 5-5/6"))
        self.assertIn("another part", self.refused(self.image))

    def test_a_server_that_is_busy_is_asked_again(self):
        seen = []

        def busy(handler, path):
            seen.append(path)
            return len(seen) in (1, 3) and (handler.answer(503) or True)
        self.registry.misbehave = busy
        self.pull(self.image)
        self.registry.misbehave = lambda handler, path: handler.answer(500) or True
        shutil.rmtree(self.store)
        self.assertIn("500", self.refused(self.image))

    def test_places_that_are_not_gone_to(self):
        for place in ("file:///etc/passwd", "ftp://localhost/x", "http://192.0.2.1/x", "http://user:word@localhost/", "gopher:x",
                      "http://[", "javascript:1"):
            self.blobs(lambda handler, place=place: handler.answer(307, Location=place))
            self.refused(self.image)
        self.blobs(lambda handler: handler.answer(302, Location=handler.path))
        self.assertIn("without end", self.refused(self.image))
        self.blobs(lambda handler: handler.answer(302))
        self.assertIn("302", self.refused(self.image))

    def test_nobody_is_told_to_a_store_of_blobs(self):
        self.registry.wants = "Basic " + base64.b64encode(b"a:b").decode()
        self.registry.challenge = "Basic"
        with Registry() as store:
            store.blobs = self.registry.blobs
            self.registry.misbehave = lambda handler, path: "/blobs/" in path and handler.headers["Authorization"] and (
                handler.answer(307, Location=store.url + path) or True)
            self.pull(self.image, CLOCHE_REGISTRY_USER="a", CLOCHE_REGISTRY_PASSWORD="b")
            self.assertEqual({who for _, _, who in store.requests}, {None})
            self.assertEqual(len(store.requests), 2)

    def test_401_for_ever(self):
        self.registry.wants, self.registry.challenge = "nothing is right", "Basic"
        self.refused(self.image, CLOCHE_REGISTRY_USER="a", CLOCHE_REGISTRY_PASSWORD="b")
        self.assertEqual(len(self.registry.requests), 2)

    def test_indexes_that_lead_deep(self):
        digest = self.digest
        for _ in range(20):
            digest = self.registry.add_index("evil", "deep", [{"mediaType": MANIFEST, "digest": digest, "size": 1}])
        self.assertIn("too deep", self.refused(f"{self.registry.host}/evil:deep"))
        self.assertLess(len(self.registry.requests), 8)

    def test_images_that_say_too_much(self):
        small = {"mediaType": OCI + "config.v1+json", "digest": self.blob, "size": 1}
        big = {"mediaType": OCI + "layer.v1.tar+gzip", "digest": self.blob, "size": 1 << 40}
        self.registry.put("evil", "big", MANIFEST, {"config": small, "layers": [big]})
        self.assertIn("are the most", self.refused(f"{self.registry.host}/evil:big"))
        self.assertEqual(self.asked("/blobs/"), [])

    def test_manifests_that_are_none(self):
        descriptor = {"mediaType": OCI + "config.v1+json", "digest": self.blob, "size": 1}
        evil = {
            "JSON": [], "schema 1": {"schemaVersion": 1, "config": 1, "layers": 1},
            "neither": {"config": descriptor, "layers": [], "manifests": []},
            "neither of": {"schemaVersion": 2},
            "no list": {"config": descriptor, "layers": {}},
            "SHA-256": {"config": {**descriptor, "digest": "sha256:../../../etc/passwd"}, "layers": []},
            "how long": {"config": {**descriptor, "size": -1}, "layers": []},
            "no image of a system": {"config": {**descriptor, "mediaType": "application/vnd.cncf.helm.config.v1+json"},
                                     "layers": []},
            "unknown kind": {"config": descriptor, "layers": [{**descriptor, "mediaType": "evil\u0007"}]},
            "more than 256": {"config": descriptor, "layers": [descriptor] * 257},
            "more than 4096": {"manifests": [descriptor] * 5000},
            "nobody": {"manifests": []},
        }
        for words, manifest in evil.items():
            self.registry.put("evil", "none", MANIFEST, manifest)
            self.assertIn(words, self.refused(f"{self.registry.host}/evil:none"))
        for text in (b"", b"{", b"[" * 100_000, b"\xff", b'{"config": 1e999, "layers": []}'):
            self.registry.manifests["evil", "none"] = (MANIFEST, text)
            self.refused(f"{self.registry.host}/evil:none")

    def test_what_is_not_there(self):
        self.assertIn("nothing? here", self.refused(f"{self.registry.host}/other"))
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            self.refused(f"localhost:{taken.getsockname()[1]}/image")

    def test_words_that_are_no_images(self):
        for word in ("", "Debian", "a b", "a//b", "a:", "a@sha256:1", "-a", "http://localhost/x", "a/../b", "localhost:x/a",
                     "a:" + "b" * 129, "a" * 300, "a@sha512:" + "0" * 128):
            self.refused(word)
        ended = self.cloche("image", "pull")
        self.assertEqual(ended.returncode, 2)
        self.assertIn("cloche image pull", ended.stderr)


class Tls(PullTest):
    def setUp(self):
        super().setUp()
        self.trusted, key = self_signed(self.folder, "localhost")
        self.pem = str(self.folder / "both.pem")
        Path(self.pem).write_text(key.read_text() + self.trusted.read_text())
        self.store_of_blobs = self.enterContext(Registry(self.pem))
        self.registry.add_image("a", "1", [layer({"x": b"1"})])
        self.store_of_blobs.blobs = self.registry.blobs
        self.registry.misbehave = lambda handler, path: "/blobs/" in path and (
            handler.answer(307, Location=self.store_of_blobs.url + path) or True)

    def test_certificates_are_checked(self):
        self.assertIn("certificate", self.refused(f"{self.registry.host}/a:1"))
        self.pull(f"{self.registry.host}/a:1", SSL_CERT_FILE=str(self.trusted))
        self.assertEqual(self.files(), {"x": b"1"})

    def test_nothing_leads_out_of_tls(self):
        plain = self.enterContext(Registry())
        plain.blobs = self.registry.blobs
        self.store_of_blobs.misbehave = lambda handler, path: handler.answer(307, Location=plain.url + path) or True
        for options in ((), ("--insecure",)):
            said = self.refused(f"{self.registry.host}/a:1", *options, SSL_CERT_FILE=str(self.trusted))
            self.assertIn("without TLS", said)
        self.assertEqual(plain.requests, [])


class DebiansRegistry(PullTest):
    """The reference implementation, which keeps its own rules of what it is given."""

    def setUp(self):
        super().setUp()
        program = shutil.which("docker-registry")
        if program is None:
            self.skipTest("docker-registry is not installed: apt-get install docker-registry")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        config = self.folder / "config.yml"
        config.write_text(f"version: 0.1\nlog: {{level: error}}\nstorage: {{filesystem: {{rootdirectory: {self.folder}/data}}}}\n"
                          f"http: {{addr: '127.0.0.1:{self.port}'}}\n")
        self.program = subprocess.Popen([program, "serve", str(config)], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        self.addCleanup(self.program.wait)
        self.addCleanup(self.program.kill)
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                break
            except ConnectionRefusedError:
                time.sleep(0.05)

    def send(self, method: str, path: str, body: bytes, kind: str) -> str:
        url = path if path.startswith("http") else f"http://127.0.0.1:{self.port}/v2/{path}"
        request = urllib.request.Request(url, body, {"Content-Type": kind}, method=method)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request) as answer:
            return answer.headers.get("Location", "")

    def test_images_of_both_kinds(self):
        for kind in ("oci", "docker"):
            digest = self.registry.add_image("a/b", kind, [layer({"kind": kind.encode()})], kind)
            for blob, data in self.registry.blobs.items():
                place = self.send("POST", "a/b/blobs/uploads/", b"", "text/plain")
                mark = "&" if "?" in place else "?"
                self.send("PUT", f"{place}{mark}digest={blob}", data, "application/octet-stream")
            media, text = self.registry.manifests["a/b", kind]
            self.send("PUT", f"a/b/manifests/{kind}", text, media)
            self.pull(f"localhost:{self.port}/a/b:{kind}")
            self.assertEqual(self.files(), {"kind": kind.encode()})
            self.pull(f"localhost:{self.port}/a/b@{digest}")
        self.refused_here("a/b:none", "a/c:1")

    def refused_here(self, *names: str):
        self.cloche("image", "remove", "test")
        for name in names:
            self.assertIn("has no manifest", self.refused(f"localhost:{self.port}/{name}"))


if __name__ == "__main__":
    unittest.main()
