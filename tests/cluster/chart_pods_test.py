# SPDX-License-Identifier: Apache-2.0
"""Pods of the rendered chart, each with a network, a root and an address of its own: cells and gateways are replaced under load.

There is no control plane: what it would do with the Pods is done by hand (pods/by_hand.py). Names are told as CoreDNS tells them: whole ones
only, and five seconds old.
"""
import hashlib
import http.client
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "pods"), str(HERE.parent / "http")]
import container  # noqa: E402
from by_hand import Cluster, rendered  # noqa: E402
from network import IP, Network, enter  # noqa: E402
from server import PATIENCE_S, PROGRAM, until  # noqa: E402

CHART = HERE.parents[1] / "deploy/helm/cloche"
TOKEN = "test-token-one"
HAPROXY = shutil.which("haproxy", path=os.environ["PATH"] + ":/usr/sbin")
PORT = 8088
KEYS = (1, 2, 3)
SESSIONS = 30
ALL_S = 900  # then it ends itself, and with it all that it has started
RATE, CONNECTIONS = 40, 16


def compiled_code(folder: Path) -> Path:
    """A copy of the machine code that this user has: an image has it too."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    cache = Path(os.environ.get("CLOCHE_CACHE") or Path(base) / "cloche") / "modules"
    code = folder / "code"
    if cache.is_dir():
        shutil.copytree(cache, code, ignore_dangling_symlinks=True)
    code.mkdir(exist_ok=True)
    if container.may_be(10001):
        for one in [code, *code.rglob("*")]:
            os.chown(one, 10001, 10001)
    return code


def ask(method, path, body=None):
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=PATIENCE_S)
    try:
        connection.request(method, path, json.dumps(body) if body is not None else None,
                           {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


@unittest.skipUnless(HAPROXY and IP and shutil.which("go"), "haproxy, ip or go is not installed: scripts/setup packages-cluster.txt")
class ChartPodsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.folder.chmod(0o755)
        subprocess.run(["go", "build", "-o", cls.folder / "render", "./render"], cwd=HERE / "chart", check=True)
        network = Network()
        cls.addClassCleanup(network.close)
        images = container.images(Path(PROGRAM), Path(os.environ["CLOCHE_ROOTFS"]), compiled_code(cls.folder))
        cls.cluster = Cluster(network, cls.folder, images, PORT)
        cls.addClassCleanup(cls.cluster.stop)
        cls.cluster.secret("cloche-tokens", tokens=f"one {hashlib.sha256(TOKEN.encode()).hexdigest()}\n")
        cls.cluster.secret("cloche-peers", token="a-secret-of-the-cells\n")
        cls.cluster.take(rendered(cls.folder / "render", CHART, "drainSeconds: 30\n"))
        for key in KEYS:
            cls.cluster.start_cell(key)
        cls.gateways = [cls.cluster.start_gateway(), cls.cluster.start_gateway()]
        cls.until_ready([f"box-{key}" for key in KEYS] + cls.gateways)
        cls.sessions = []
        # A gateway finds the cells one after the other.
        until(lambda: cls.create() >= SESSIONS and {int(session[-4:], 16) for session in cls.sessions} == set(KEYS),
              "sessions are on all cells")

    @classmethod
    def create(cls) -> int:
        """One more session; how many there are."""
        status, body = ask("POST", "/sessions", {"ttl": 3600})
        assert status == 200, body
        cls.sessions.append(json.loads(body)["sessionId"])
        return len(cls.sessions)

    @classmethod
    def logs(cls):
        paths = [*cls.folder.glob("box-*/*.log"), *cls.folder.glob("logs/*.log")]
        return "\n".join(f"{path.parent.name}: {path.read_text(errors='replace')[-600:]}" for path in paths) + "\n".join(cls.cluster.notes)

    @classmethod
    def until_ready(cls, names):
        try:
            until(lambda: all(cls.cluster.is_ready(name) for name in names) or cls.cluster.notes, f"{names} are ready")
            assert not cls.cluster.notes, "an agent is not content"
        except AssertionError as error:
            raise AssertionError(f"{error}\n{cls.logs()}") from error

    def replace_cell(self, key):
        name = f"box-{key}"
        self.cluster.end(name)
        until(lambda: self.cluster.is_gone(name), f"{name} is gone")
        self.cluster.start_cell(key)
        self.until_ready([name])

    def under_load(self, act):
        """What came of the load meanwhile; what was acknowledged is in the files once."""
        driver = subprocess.Popen([sys.executable, "-B", str(HERE / "driver.py"), str(PORT), TOKEN, str(RATE), str(CONNECTIONS)],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(driver.kill)
        driver.stdin.write(" ".join(self.sessions) + "\n")
        driver.stdin.flush()
        time.sleep(2)  # the load is the test
        act()
        time.sleep(2)
        out, _ = driver.communicate("", timeout=PATIENCE_S)
        result = json.loads(out)
        self.assertEqual(result["failures"], [], "\n" + self.logs())
        self.assertGreater(result["count"], RATE)
        for session, lines in result["acknowledged"].items():
            if lines:
                status, content = ask("GET", f"/sessions/{session}/files?filePath=log")
                self.assertEqual(status, 200, content)
                self.assertEqual(sorted(int(word) for word in content.split()), sorted(lines))
                self.assertEqual(ask("POST", f"/sessions/{session}/commands", {"command": "rm log"})[0], 200)
        return result

    def test_cells_come_back_at_other_addresses_and_no_request_fails(self):
        before = {key: self.cluster.kube.get("Pod", f"box-{key}")["status"]["podIP"] for key in KEYS}
        result = self.under_load(lambda: [self.replace_cell(key) for key in reversed(KEYS)])
        for key in KEYS:
            self.assertNotEqual(self.cluster.kube.get("Pod", f"box-{key}")["status"]["podIP"], before[key])
        print(f"\ncells of the chart replaced: {result['count']} commands, the longest took {result['longest_s']:.1f} s")

    def test_gateways_are_replaced_and_no_request_fails(self):
        def act():
            for number, old in enumerate(self.gateways):
                self.gateways[number] = self.cluster.start_gateway()
                self.until_ready([self.gateways[number]])
                self.cluster.end(old)
                until(lambda old=old: self.cluster.is_gone(old), f"{old} is gone")

        result = self.under_load(act)
        print(f"\ngateways of the chart replaced: {result['count']} commands, the longest took {result['longest_s']:.1f} s")

    def test_a_cell_is_what_the_chart_says(self):
        pod = next(run for run in self.cluster.runs.values() if run.name == "box-1")
        facts = Path(f"/proc/{pod.processes[0].process.pid}/status").read_text()
        self.assertIn("CapEff:\t0000000000000000", facts)
        self.assertIn("NoNewPrivs:\t1", facts)
        if container.may_be(10001):
            self.assertIn("Uid:\t10001\t10001\t10001\t10001", facts)


def end_in_time():
    time.sleep(ALL_S)
    print("the test takes too long", file=sys.stderr)
    if folder := getattr(ChartPodsTest, "folder", None):
        shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)  # the first process of its namespace


if __name__ == "__main__":
    enter("--pid", "--fork", "--kill-child", "--mount", "--mount-proc")
    threading.Thread(target=end_in_time, daemon=True).start()
    unittest.main()
