# SPDX-License-Identifier: Apache-2.0
"""Pods of the rendered chart, each with a network, a root and an address of its own: cells and gateways are replaced under load.

There is no control plane: what it would do with the Pods is done by hand (pods/by_hand.py). Names are told as CoreDNS tells them: whole ones
only, and five seconds old.
"""
import concurrent.futures
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "pods"), str(HERE.parent / "http")]
import bounded  # noqa: E402
import container  # noqa: E402
from by_hand import NAMESPACE, Cluster, rendered  # noqa: E402
from gateway import HAPROXY  # noqa: E402
from load import PORT, TOKEN, ask, under_load  # noqa: E402
from network import IP, Network  # noqa: E402
from server import PROGRAM, until  # noqa: E402

CHART = HERE.parents[1] / "deploy/helm/cloche"
KEYS = (1, 2, 3)
GATEWAY_PORT = 8080
SESSIONS = 30
ALL_S = 900  # then it ends itself, and with it all that it has started


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
        under_load(self, self.sessions, act, lambda: "\n" + self.logs())

    def test_cells_come_back_at_other_addresses_and_no_request_fails(self):
        before = {key: self.cluster.kube.get("Pod", f"box-{key}")["status"]["podIP"] for key in KEYS}
        self.under_load(lambda: [self.replace_cell(key) for key in reversed(KEYS)])
        for key in KEYS:
            self.assertNotEqual(self.cluster.kube.get("Pod", f"box-{key}")["status"]["podIP"], before[key])

    def test_gateways_are_replaced_and_no_request_fails(self):
        def act():
            for number, old in enumerate(self.gateways):
                self.gateways[number] = self.cluster.start_gateway()
                self.until_ready([self.gateways[number]])
                self.cluster.end(old)
                until(lambda old=old: self.cluster.is_gone(old), f"{old} is gone")

        self.under_load(act)

    def test_a_gateway_that_begins_while_a_cell_is_away_has_its_requests_wait_too(self):
        session = next(one for one in self.sessions if one.endswith("0003"))
        self.cluster.end("box-3")
        name = f"box-3.box-cells.{NAMESPACE}.svc.cluster.local"
        until(lambda: self.cluster.is_gone("box-3") and self.cluster.names.look_up(name) is None, "box-3 is gone, and its name")
        gateway = self.cluster.start_gateway()
        self.until_ready([gateway])
        address = self.cluster.kube.get("Pod", gateway)["status"]["podIP"], GATEWAY_PORT
        with concurrent.futures.ThreadPoolExecutor() as clients:
            answers = [clients.submit(ask, "POST", f"/sessions/{session}/commands", {"command": "echo on"}, address) for _ in range(5)]
            time.sleep(1)  # so long they wait at least
            self.cluster.start_cell(3)
            for answer in answers:
                status, body = answer.result()
                self.assertEqual((status, json.loads(body).get("stdout")), (200, "on\n"), self.logs())
        self.until_ready(["box-3"])
        self.cluster.end(gateway)
        until(lambda: self.cluster.is_gone(gateway), f"{gateway} is gone")

    def test_a_cell_is_what_the_chart_says(self):
        pod = next(run for run in self.cluster.runs.values() if run.name == "box-1")
        facts = Path(f"/proc/{pod.processes[0].process.pid}/status").read_text()
        self.assertIn("CapEff:\t0000000000000000", facts)
        self.assertIn("NoNewPrivs:\t1", facts)
        if container.may_be(10001):
            self.assertIn("Uid:\t10001\t10001\t10001\t10001", facts)


def put_away():
    if folder := getattr(ChartPodsTest, "folder", None):
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    bounded.run(ALL_S, put_away)
