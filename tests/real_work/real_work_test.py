# SPDX-License-Identifier: Apache-2.0
"""What agents do all day, in sandboxes of the linux engine: with Debian's own programs, and with packages that come through the
sandbox's network rules, from this machine's loopback. `make test-linux` runs it; supplies.py brings what it wants."""
import contextlib
import os
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Callable, Iterable

import supplies
from shops import Shops, Supplies

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "sdk/python/src"))
from cloche import Sandbox  # noqa: E402

PATIENCE_MS = 600_000
PROGRAM = Path(os.environ["CLOCHE_BINARY"])

C_PROJECT = {
    "src/add.c": '#include "add.h"\nint add(int a, int b) { return a + b; }\n',
    "src/add.h": "int add(int a, int b);\n",
    "src/square.c": '#include <math.h>\n#include "square.h"\ndouble root(double x) { return sqrt(x); }\n',
    "src/square.h": "double root(double x);\n",
    "test/test.c": '#include <stdio.h>\n#include "../src/add.h"\n#include "../src/square.h"\n'
                   'int main(void) {\n  int bad = 0;\n  if (add(2, 3) != 5) { puts("add is wrong"); bad = 1; }\n'
                   '  if (root(9) != 3) { puts("root is wrong"); bad = 1; }\n  if (!bad) puts("2 tests passed");\n'
                   "  return bad;\n}\n",
    "Makefile": "CFLAGS = -Wall -Wextra -Werror -O1 -Isrc -MMD\nLDLIBS = -lm\nobjects = src/add.o src/square.o\n"
                "check: build/test\n\t./build/test\nbuild/test: test/test.o libsum.so\n\tmkdir -p build\n"
                "\t$(CC) -o $@ test/test.o -L. -lsum -Wl,-rpath,'$$ORIGIN/..' $(LDLIBS)\n"
                "libsum.so: $(objects)\n\t$(CC) -shared -o $@ $^ $(LDLIBS)\nsrc/%.o: CFLAGS += -fPIC\n"
                "clean:\n\trm -rf build *.so */*.o */*.d\n-include src/*.d test/*.d\n.PHONY: check clean\n",
    ".gitignore": "*.o\n*.d\n*.so\nbuild/\n",
}


def setUpModule() -> None:
    """The supplies, the shops that have them, and a store of images that the program finds."""
    found = {}
    try:
        said = subprocess.run([sys.executable, "-B", str(Path(supplies.__file__)), str(PROGRAM)], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True).stdout
        found = dict(line.split("=", 1) for line in said.splitlines())
    except subprocess.CalledProcessError as failed:
        raise unittest.SkipTest(failed.stderr.strip()) from None
    os.environ["CLOCHE_IMAGES"] = found["images"]
    folder = unittest.enterModuleContext(tempfile.TemporaryDirectory(prefix="cloche-real-work-"))
    global shops
    shops = unittest.enterModuleContext(Shops(Supplies(**{name: Path(path) for name, path in found.items()}), Path(folder)))
    shops.make_debian_repository()
    shops.make_git_repository("project", C_PROJECT)


def sandbox(**more) -> Sandbox:
    options = {"engine": "linux", "image": supplies.IMAGE, "network": [shops.rule], "timeout_ms": PATIENCE_MS,
               "fs_limit_bytes": "1g", "limits": {"memory_bytes": "3g"}}
    return Sandbox(**{**options, **more})


class RealWork(unittest.TestCase):
    def setUp(self):
        self.sandbox = self.enterContext(sandbox())

    def run_in(self, command: str, box: Sandbox | None = None) -> str:
        result = (box or self.sandbox).commands.run(command)
        self.assertEqual(result.exit_code, 0, f"{command}\n{result.stdout[-4000:]}\n{result.stderr[-4000:]}")
        return result.stdout


class Building(RealWork):
    def test_a_project_in_c_is_cloned_mended_tested_and_committed(self):
        self.run_in(f"git clone -q {shops.url}/git/project.git && cd project && git config user.name A && "
                    "git config user.email a@example.org")  # the shell stays in that folder
        self.assertTrue(self.run_in("make -s -j4 check").endswith("2 tests passed\n"))
        self.run_in("sed -i 's/a + b/a - b/' src/add.c")
        failed = self.sandbox.commands.run("make -s check")
        self.assertEqual((failed.exit_code, failed.stdout), (2, "add is wrong\n"), failed.stderr)
        self.run_in("sed -i 's/a - b/b + a/' src/add.c && make -s check && git commit -qam second")
        self.assertEqual(self.run_in("git log --format=%s; git status --short; git diff --stat HEAD~1 | tail -n 1"),
                         "second\nfirst\n 1 file changed, 1 insertion(+), 1 deletion(-)\n")
        with self.sandbox.fork() as twin:
            self.assertEqual(self.run_in("git checkout -q HEAD~1 && make -s check && cat src/add.c | tail -n 1", twin),
                             "2 tests passed\n" + C_PROJECT["src/add.c"].splitlines()[1] + "\n")
        self.assertIn("b + a", self.run_in("make -s clean; git status --short --ignored; cat src/add.c"))

    def test_threads_and_sanitizers(self):
        self.sandbox.files.write("t.cc", "#include <atomic>\n#include <iostream>\n#include <thread>\n#include <vector>\n"
                                 "int main() {\n  std::atomic<int> n = 0;\n  std::vector<std::jthread> all;\n"
                                 "  for (int i = 0; i < 8; ++i) all.emplace_back([&] { for (int j = 0; j < 1000; ++j) ++n; });\n"
                                 "  all.clear();\n  std::cout << n << std::endl;\n}\n")
        self.assertEqual(self.run_in("g++ -std=c++20 -pthread t.cc -o t && ./t"), "8000\n")
        self.sandbox.files.write("bad.c", "int main(int count, char **words) { return (2147483647 + count) * (words != 0) != 0; }\n")
        self.run_in("gcc -g -fsanitize=undefined -fno-sanitize-recover bad.c -o bad")
        found = self.sandbox.commands.run("./bad")
        self.assertNotEqual(found.exit_code, 0)
        self.assertIn("bad.c:1:", found.stderr)
        self.assertIn("signed integer overflow", found.stderr)


class Python(RealWork):
    def test_native_wheels_come_from_an_index_and_are_used(self):
        self.run_in("python3 -m venv env && . env/bin/activate && "
                    f"pip install --quiet --index-url {shops.url}/simple/ numpy pydantic polars")
        self.sandbox.files.write("use.py", """
import json, numpy, polars, pydantic
class Row(pydantic.BaseModel):
    name: str
    value: float
a = numpy.arange(12.0).reshape(3, 4)
print(a @ a.T, numpy.linalg.norm(a))
rows = [Row(name=n, value=v) for n, v in zip("abab", a[0])]
frame = polars.DataFrame([row.model_dump() for row in rows])
print(frame.group_by("name").agg(polars.col("value").sum()).sort("name").rows())
try:
    Row(name="c", value="much")
except pydantic.ValidationError as error:
    print(error.error_count())
""")
        self.assertEqual(self.run_in("python3 use.py"),
                         "[[ 14.  38.  62.]\n [ 38. 126. 214.]\n [ 62. 214. 366.]] 22.494443758403985\n"
                         "[('a', 2.0), ('b', 4.0)]\n1\n")
        # What is not in the index is not there, and what the rules do not name is not reached.
        absent = self.sandbox.commands.run(f"pip install --retries 0 --index-url {shops.url}/simple/ left-pad")
        self.assertEqual(absent.exit_code, 1)
        self.assertIn("No matching distribution", absent.stderr)
        refused = self.sandbox.commands.run("pip download --no-deps --retries 0 --index-url http://127.0.0.1:1/simple/ numpy")
        self.assertEqual(refused.exit_code, 1)

    def test_for_the_kept_python_too(self):
        """Installed for the user's own python3, it is there in sessions and their forks."""
        self.run_in(f"pip install --quiet --break-system-packages --index-url {shops.url}/simple/ numpy pydantic-core")
        said = self.sandbox.python.execute("import numpy, pydantic_core; a = numpy.ones(1 << 17); print(int(a.sum()))")
        self.assertEqual((said.stdout, said.stderr), ("131072\n", ""))
        with self.sandbox.fork() as twin:
            said = twin.python.execute("a += 1; print(int(a.sum()), pydantic_core.to_json({'a': 1}))")
            self.assertEqual((said.stdout, said.stderr), ("262144 b'{\"a\":1}'\n", ""))
        self.assertEqual(self.sandbox.python.execute("print(int(a.sum()))").stdout, "131072\n")


class Node(RealWork):
    def test_npm_installs_from_a_registry_and_runs(self):
        self.run_in(f"mkdir -p /opt/npm && curl -sSf {shops.url}/archives/npm@10.9.9.tgz | tar -xz -C /opt/npm --strip-components=1 && "
                    "ln -s /opt/npm/bin/npm-cli.js /usr/local/bin/npm && ln -s /opt/npm/bin/npx-cli.js /usr/local/bin/npx && "
                    "chmod +x /opt/npm/bin/*.js")
        self.sandbox.files.write("app/package.json", '{"name": "app", "version": "1.0.0", "scripts": {"build": '
                                 '"esbuild main.ts --bundle --platform=node --outfile=out.js", "test": "node --test"}}')
        self.sandbox.files.write("app/main.ts", 'import chalk from "chalk";\nconst n: number = 40 + 2;\n'
                                 'console.log(new chalk.Instance({level: 0}).red("answer"), n);\n')
        self.sandbox.files.write("app/main.test.js", 'const {test} = require("node:test");\nconst assert = require("node:assert");\n'
                                 'test("adds", () => assert.equal(1 + 1, 2));\n')
        self.run_in(f"cd app && npm config set registry {shops.url}/npm/ && npm install --no-audit --no-fund chalk esbuild")
        self.assertEqual(self.run_in("npm run --silent build 2>/dev/null && node out.js"), "answer 42\n")
        self.assertIn("# pass 1", self.run_in("npm test --silent"))
        self.assertEqual(self.run_in("npx --no -- esbuild --version"), "0.28.2\n")
        # From what it wrote down, all anew.
        self.run_in("rm -rf node_modules out.js && npm ci --no-audit --no-fund --silent && npm run --silent build 2>/dev/null")
        self.assertEqual(self.run_in("node out.js"), "answer 42\n")


class Debian(RealWork):
    def install(self, *packages: str) -> None:
        self.run_in(f"echo 'deb [trusted=yes] {shops.url}/debian ./' >/etc/apt/sources.list && rm -f /etc/apt/sources.list.d/* && "
                    "apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends "
                    + " ".join(packages))

    def test_apt_installs_a_program_with_its_libraries(self):
        self.install("jq")
        self.assertEqual(self.run_in("echo '{\"a\": [1, 2]}' | jq -c '.a | add'; dpkg -s jq | grep ^Status"),
                         "3\nStatus: install ok installed\n")
        self.run_in("apt-get -q remove -y jq && apt-get -q autoremove -y && dpkg --audit && ! command -v jq")

    def test_apt_installs_a_server_with_a_user_of_its_own_which_is_used_in_later_runs(self):
        self.install("redis-server")
        self.assertEqual(self.run_in("id -un redis; dpkg --audit"), "redis\n")
        self.run_in("redis-server --daemonize yes --port 6379 --logfile /tmp/redis.log --dir /tmp >/dev/null && "
                    "until redis-cli ping >/dev/null 2>&1; do sleep 0.05; done")
        self.assertEqual(self.run_in("redis-cli set a 1; redis-cli incr a"), "OK\n2\n")
        self.assertEqual(self.run_in("redis-cli incr a; redis-cli shutdown nosave; ! redis-cli ping 2>/dev/null"), "3\n")

    def test_an_image_of_what_was_installed(self):
        """`image commit` keeps what apt has done, for others to begin with."""
        store = os.environ["CLOCHE_IMAGES"]
        script = (f"echo 'deb [trusted=yes] {shops.url}/debian ./' >/etc/apt/sources.list; rm -f /etc/apt/sources.list.d/*; "
                  "apt-get -q update && apt-get -q install -y jq")
        made = subprocess.run([PROGRAM, "image", "commit", "--image", supplies.IMAGE, "--net", shops.rule, "--fs-limit", "1g",
                               "with-jq", script], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(subprocess.run, [PROGRAM, "image", "remove", "with-jq"], env={**os.environ, "CLOCHE_IMAGES": store})
        self.assertEqual(made.returncode, 0, made.stderr)
        with sandbox(image="with-jq", network=None) as box:
            self.assertEqual(self.run_in("echo '[1]' | jq -c .; dpkg --audit", box), "[1]\n")


class Secrets(unittest.TestCase):
    """Programs speak TLS with a host that has a secret; the authority of that is in the image's own bundle, whatever remakes it."""

    def setUp(self):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="cloche-tls-")))
        self.pem = folder / "server.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                        "-addext", "subjectAltName=DNS:localhost", "-keyout", folder / "key", "-out", folder / "certificate"],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.certificate = (folder / "certificate").read_text()
        self.pem.write_text((folder / "key").read_text() + self.certificate)
        self.shops = self.enterContext(Shops(shops.supplies, folder, str(self.pem)))
        (folder / "page").mkdir()
        (folder / "page" / "hello").write_text("hello\n")
        network = {"allow": [self.shops.rule, shops.rule], "trustedCertificates": self.certificate,
                   "secrets": {"KEY": {"value": "the-true-value", "hosts": ["localhost"]}}}
        self.sandbox = self.enterContext(sandbox(network=network))

    def ask(self, how: str) -> str:
        result = self.sandbox.commands.run(how)
        return result.stdout + result.stderr

    def test_programs_trust_in_it_after_the_bundle_is_made_anew(self):
        url = f"{self.shops.url}/page/hello"
        # Without the variables: by the bundle, and by the folder of hashes.
        no_variables = "env -u SSL_CERT_FILE -u CURL_CA_BUNDLE -u REQUESTS_CA_BUNDLE "
        by_bundle = f"{no_variables} curl -sS -H \"Authorization: Bearer $KEY\" {url}"
        by_hashes = (f"{no_variables} python3 -c 'import ssl, urllib.request as r; c = ssl.create_default_context(); "
                     f"print(r.urlopen(\"{url}\", context=c).read().decode(), end=\"\")'")
        for before in ("true", "update-ca-certificates", "update-ca-certificates --fresh",
                       f"echo 'deb [trusted=yes] {shops.url}/debian ./' >/etc/apt/sources.list; rm -f /etc/apt/sources.list.d/*; "
                       "apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -q install -y --reinstall ca-certificates"):
            with self.subTest(before=before):
                made = self.sandbox.commands.run(before)
                self.assertEqual(made.exit_code, 0, made.stdout + made.stderr)
                self.assertEqual(self.ask(by_bundle), "hello\n")
                self.assertEqual(self.ask(by_hashes), "hello\n")
        self.assertIn(("/page/hello", "Bearer the-true-value"), self.shops.requests)
        self.assertNotIn("the-true-value", self.ask("env; cat /etc/ssl/certs/ca-certificates.crt"))


class Many(unittest.TestCase):
    COUNT = 50

    def work(self, number: int, all_are_there: threading.Barrier) -> str:
        try:
            with sandbox(limits={"memory_bytes": "512m"}, fs_limit_bytes="256m") as box:
                said = self.work_in(box, number)
                all_are_there.wait()
                return said
        except BaseException:
            all_are_there.abort()
            raise

    def work_in(self, box: Sandbox, number: int) -> str:
        def run(command: str) -> str:
            result = box.commands.run(command)
            self.assertEqual(result.exit_code, 0, f"{number}: {command}\n{result.stdout}\n{result.stderr}")
            return result.stdout
        run(f"git clone -q {shops.url}/git/project.git && cd project && git config user.name A && "
            "git config user.email a@example.org && make -s check")
        run(f"echo {number} >number && git add number && git commit -qm number")
        run("mkfifo up; (python3 -c \"\nimport http.server\n"
            "server = http.server.HTTPServer(('127.0.0.1', 8000), http.server.SimpleHTTPRequestHandler)\n"
            "open('up', 'w').close()\nserver.serve_forever()\" >log 2>&1 &); read _ <up; true")
        return run("curl -sS localhost:8000/number; git log --oneline | wc -l")

    def until_none(self, look: Callable[[], list[int]]) -> None:
        deadline = time.monotonic() + PATIENCE_MS / 1000
        while look() and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertEqual(look(), [])

    def test_fifty_at_once_and_nothing_is_left(self):
        mounts = Path("/proc/self/mountinfo").read_text()
        keeper = sandbox()  # so that the program goes on until its descriptors have been counted
        with contextlib.closing(keeper):
            keeper.commands.run("true")
            program = next(pid for pid in descendants(os.getpid())[1:] if os.readlink(f"/proc/{pid}/exe") == str(PROGRAM.resolve()))
            descriptors = len(os.listdir(f"/proc/{program}/fd"))
            family, spaces = {}, set()

            def look() -> None:  # while they all are there
                family.update({pid: began(pid) for pid in descendants(program)})
                spaces.update(namespaces_of(family))
            all_are_there = threading.Barrier(self.COUNT, look)
            with ThreadPoolExecutor(self.COUNT) as pool:
                said = list(pool.map(lambda number: self.work(number, all_are_there), range(self.COUNT)))
            self.assertEqual(said, [f"{number}\n2\n" for number in range(self.COUNT)])
            self.assertGreater(len(family), 3 * self.COUNT)
            # What is ready beforehand of boxes is kept.
            self.assertLessEqual(len(os.listdir(f"/proc/{program}/fd")), descriptors + 64)
        # What mounts folders, where root runs it, ends a moment after the rest.
        self.until_none(lambda: [pid for pid, when in family.items() if when and began(pid) == when])
        self.until_none(lambda: [pid for pid in everybody() if namespaces_of([pid]) & spaces])
        self.assertEqual(Path("/proc/self/mountinfo").read_text(), mounts)


def everybody() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdecimal()]


def began(pid: int) -> str:
    """When it did; nothing where it is gone. Numbers of processes come again."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    return ""


def descendants(of: int) -> list[int]:
    parents = {}
    for pid in everybody():
        with contextlib.suppress(OSError):
            parents[pid] = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    found = [of]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found


def namespaces_of(pids: Iterable[int]) -> set[str]:
    """Those that are not this process's own, as far as they may be seen."""
    kinds = ("user", "mnt", "pid", "net", "ipc", "cgroup")
    found = set()
    for pid in pids:
        for kind in kinds:
            with contextlib.suppress(OSError):
                found.add(os.readlink(f"/proc/{pid}/ns/{kind}"))
    return found - {os.readlink(f"/proc/self/ns/{kind}") for kind in kinds}


if __name__ == "__main__":
    unittest.main()
