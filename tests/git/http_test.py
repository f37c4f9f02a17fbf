# SPDX-License-Identifier: Apache-2.0
"""git in a sandbox over HTTP with TLS by the host: cloning, fetching, pushing, and what is refused."""
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "wires"))
from line_client import LineClient  # noqa: E402
from repositories import Repositories, git  # noqa: E402

PASSWORD = "the real/value"


class GitOverHttp(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.repositories = Repositories(pathlib.Path(cls.folder.name), "user", PASSWORD)
        cls.big = os.urandom(3_000_000)
        cls.public = cls.repositories.make("public", {"a": b"1\n", "big": cls.big})
        cls.repositories.make("private/closed", {"b": b"2\n"})
        cls.url = cls.repositories.url

    @classmethod
    def tearDownClass(cls):
        cls.repositories.close()
        cls.folder.cleanup()

    def run_in_sandbox(self, script, status=0):
        done = subprocess.run([os.environ["CLOCHE_PROGRAM"], "run", "--net", f"localhost:{self.repositories.port}", "--net-certificates", self.repositories.trusted,
                               "--timeout", "300s", f"set -e; url={self.url}\n{script}"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, status, (done.stdout[-500:], done.stderr[-500:]))
        return done.stdout + done.stderr

    def test_clones_whole_shallow_and_in_part(self):
        said = self.run_in_sandbox("""
            git clone -q $url/public.git && cd public && git log --format=%s && sha256sum big | cut -c1-64 && git branch -r --format='%(refname:short)' && cd ..
            git clone -q --depth 1 $url/public.git shallow && git -C shallow fetch -q --unshallow && git -C shallow log --format=%s
            git clone -q --filter=blob:none $url/public.git part && cmp part/big public/big
            git -c protocol.version=0 clone -q $url/public.git old && cmp old/big public/big
            git ls-remote $url/public.git master | cut -f2
            git -C public submodule --quiet add $url/public.git inner && cat public/inner/a""")
        self.assertEqual(said, f"one\n{hashlib.sha256(self.big).hexdigest()}\norigin/HEAD\norigin/master\norigin/other\none\nrefs/heads/master\n1\n")

    def test_pushes_what_others_then_fetch(self):
        said = self.run_in_sandbox("""
            git clone -q $url/public.git first && git clone -q $url/public.git second && cd first && git checkout -q -b pushed
            head -c 5000000 /dev/urandom >more && git add more && git commit -qm two && git push -q origin pushed
            cd ../second && git fetch -q && git checkout -q pushed && cmp more ../first/more && git log --format=%s
            git push -q origin :pushed && git ls-remote $url/public.git pushed
            cd ../first && git commit -q --amend -m three && git push -q origin pushed && git rev-parse HEAD""")
        *log, head = said.split()
        self.assertEqual(log, ["two", "one"])
        self.assertEqual(git("rev-parse", "pushed", cwd=self.public), head)
        git("fsck", "--strict", cwd=self.public)

    def test_says_what_is_wrong(self):
        for script, expected in {
            "git clone $url/none.git": "not found",
            "git clone $url/private/closed.git": "could not read Username",
            "git clone https://user:wrong@${url#https://}/private/closed.git": "Authentication failed",
            "git clone https://127.0.0.1:${url##*:}/public.git": "SSL",
            "git clone http://localhost:${url##*:}/public.git": "unable to access",
            "git clone https://example.com/x.git": "the network policy of this sandbox does not permit it",
            "git clone https://localhost:1/x.git": "unable to access",
        }.items():
            with self.subTest(script):
                self.assertIn(expected, self.run_in_sandbox(script, status=128))

    def test_credentials_of_a_program_and_of_a_file(self):
        said = self.run_in_sandbox(r"""
            printf '#!/bin/sh\ncase $1 in User*) echo user;; *) echo "the real/value";; esac\n' >ask && chmod +x ask
            GIT_ASKPASS=$PWD/ask git clone -q $url/private/closed.git by_program && cat by_program/b
            echo "https://user:the%20real%2Fvalue@${url#https://}" >~/.git-credentials
            git -c credential.helper=store clone -q $url/private/closed.git by_file && cat by_file/b""")
        self.assertEqual(said, "2\n2\n")

    def test_pip_installs_from_a_repository(self):
        backend = """
import zipfile
def build_wheel(out, config_settings=None, metadata_directory=None):
    with zipfile.ZipFile(out + "/made-3-py3-none-any.whl", "w") as box:
        box.writestr("made.py", open("text").read())
        box.writestr("made-3.dist-info/METADATA", "Metadata-Version: 2.1\\nName: made\\nVersion: 3\\n")
        box.writestr("made-3.dist-info/WHEEL", "Wheel-Version: 1.0\\n")
        box.writestr("made-3.dist-info/RECORD", "")
    return "made-3-py3-none-any.whl"
"""
        table = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
        at = self.repositories.make("package", {"pyproject.toml": table.encode(), "backend.py": backend.encode(), "text": b"x = 5\n"})
        commit = git("rev-parse", "master", cwd=at)
        said = self.run_in_sandbox(f"""
            cd /tmp; for what in git+$url/package.git@other git+$url/package.git@{commit} git+$url/package.git "made @ git+$url/package.git@master"; do
              pip install -q --force-reinstall "$what"; python3 -c 'import made; print(made.x)'; pip freeze; done""")
        self.assertEqual(said, f"5\nmade @ git+{self.url}/package.git@{commit}\n" * 4)
        for what, expected in {"package.git@absent": "remote ref absent", "none.git": "not found", "package.git#subdirectory=../..": "has no folder ../..",
                               "package.git@-x": "is no reference", "private/closed.git": "could not read Username"}.items():
            with self.subTest(what):
                self.assertIn(expected, self.run_in_sandbox(f"pip install -q 'git+{self.url}/{what}'", status=1))

    def test_a_secret_is_put_in_by_the_host(self):
        client = LineClient(os.environ["CLOCHE_PROGRAM"], "rpc")
        asked = {"create": {"network": {"allow": [f"localhost:{self.repositories.port}"], "trustedCertificates": self.repositories.trusted.read_text(),
                                        "secrets": {"TOKEN": {"value": PASSWORD, "hosts": ["localhost"]}}}},
                 "run": {"command": f"git clone -q https://user:$TOKEN@localhost:{self.repositories.port}/private/closed.git c && cat c/b && git -C c remote get-url origin"}}
        for number, (method, params) in enumerate(asked.items()):
            client.send_message(id=number, method=method, params=params)
            while "id" not in (answer := client.read()):
                pass
            self.assertIn("result", answer)
        self.assertEqual(client.end(), 0)
        told = answer["result"]
        self.assertEqual(told["stdout"], f"2\nhttps://user:[TOKEN]@localhost:{self.repositories.port}/private/closed.git\n", told)


if __name__ == "__main__":
    unittest.main()
