# SPDX-License-Identifier: Apache-2.0
"""A control plane of Kubernetes takes the rendered chart and rolls it out: real apiserver, scheduler and controllers, and nodes whose
agents start Pods as processes (plane/node.py).

All of it is in namespaces of the test's own, and ends with it.
"""
import base64
import hashlib
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
sys.path[:0] = [str(HERE), str(HERE / "pods"), str(HERE / "plane"), str(HERE.parent / "http")]
import bounded  # noqa: E402
import build  # noqa: E402
import container  # noqa: E402
import names  # noqa: E402
from by_hand import NAMESPACE, rendered  # noqa: E402
from chart_pods_test import CHART, HAPROXY, compiled_code  # noqa: E402
from control_plane import ControlPlane  # noqa: E402
from kube import Watch  # noqa: E402
from load import PORT, TOKEN, ask, under_load  # noqa: E402
from network import IP, Network  # noqa: E402
from node import Node  # noqa: E402
from objects import Refused  # noqa: E402
from server import PROGRAM, until  # noqa: E402

ETCD = shutil.which("etcd", path=os.environ["PATH"] + ":/usr/sbin")
NODES = {"node-1": "zone-a", "node-2": "zone-b", "node-3": "zone-c", "node-4": "zone-a"}
SESSIONS = 30
ALL_S = 1500  # then the test ends itself, and all that it has started


def secret(name, **files):
    data = {key: base64.b64encode(value.encode()).decode() for key, value in files.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": data}


@unittest.skipUnless(HAPROXY and IP and ETCD and build.has(build.folder()), "no control plane: tests/cluster/plane/build.py, and scripts/setup "
                     "packages-cluster.txt")
class ControlPlaneTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.folder.chmod(0o755)
        subprocess.run(["go", "build", "-o", cls.folder / "render", "./render"], cwd=HERE / "chart", check=True)
        network = Network()
        cls.addClassCleanup(network.close)
        cls.plane = ControlPlane(build.folder(), ETCD, cls.folder / "plane", "10.77.0.254", list(NODES))
        cls.addClassCleanup(cls.plane.stop)
        cls.kube = cls.plane.admin
        pieces = Watch(cls.kube, "EndpointSlice")
        cls.addClassCleanup(pieces.stop)
        services = Watch(cls.kube, "Service")
        cls.addClassCleanup(services.stop)
        cls.names = names.Names(pieces, services, "10.77.0.254")
        cls.addClassCleanup(cls.names.stop)
        door = names.Door(pieces, NAMESPACE, "box", PORT)
        cls.addClassCleanup(door.stop)
        cls.network, cls.lock = network, threading.Lock()
        cls.images = container.images(Path(PROGRAM), Path(os.environ["CLOCHE_ROOTFS"]), compiled_code(cls.folder))
        cls.nodes = {}
        for name in NODES:
            cls.start_node(name)
        cls.addClassCleanup(lambda: [node.stop() for node in cls.nodes.values()])
        cls.prepare()
        cls.apply("drainSeconds: 30\n")
        cls.until_rolled(3)
        cls.sessions = []
        until(lambda: cls.create() >= SESSIONS and {int(session[-4:], 16) for session in cls.sessions} == {1, 2, 3}, "sessions are on all cells")

    @classmethod
    def start_node(cls, name):
        cls.nodes[name] = Node(name, NODES[name], cls.plane.kube(name), cls.network, cls.lock, cls.images, cls.folder / f"{name}-{time.time()}",
                               "10.77.0.254")

    @classmethod
    def prepare(cls):
        """What there is in a cluster before a chart: a namespace that lets no privilege in, storage, secrets."""
        levels = {f"pod-security.kubernetes.io/{act}": "restricted" for act in ("enforce", "warn", "audit")}
        cls.kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": levels}})
        until(lambda: cls.kube.find("ServiceAccount", "default", NAMESPACE), "the namespace has its account")
        cls.kube.create({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "provisioner": "kubernetes.io/no-provisioner",
                         "metadata": {"name": "folders", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}})
        for number in range(1, 6):
            cls.kube.create({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": f"folder-{number}"}, "spec": {
                "capacity": {"storage": "50Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "folders",
                "persistentVolumeReclaimPolicy": "Retain", "hostPath": {"path": str(cls.folder / f"state-{number}")}}})
        cls.kube.create(secret("cloche-tokens", tokens=f"one {hashlib.sha256(TOKEN.encode()).hexdigest()}\n"), NAMESPACE)
        cls.kube.create(secret("cloche-peers", token="a-secret-of-the-cells\n"), NAMESPACE)

    @classmethod
    def apply(cls, values):
        for body in rendered(cls.folder / "render", CHART, values):
            cls.kube.apply(body, NAMESPACE)

    @classmethod
    def create(cls) -> int:
        status, body = ask("POST", "/sessions", {"ttl": 3600})
        assert status == 200, body
        cls.sessions.append(json.loads(body)["sessionId"])
        return len(cls.sessions)

    @classmethod
    def is_rolled(cls, cells) -> bool:
        """As `kubectl rollout status` has it, of the cells and of the gateway."""
        cls.plane.check()
        cell, gateway = cls.kube.get("StatefulSet", "box", NAMESPACE), cls.kube.get("Deployment", "box-gateway", NAMESPACE)
        of_cell, of_gateway = cell["status"], gateway["status"]
        return (of_cell.get("observedGeneration") == cell["metadata"]["generation"] and of_cell.get("readyReplicas", 0) == cells and
                of_cell.get("updatedReplicas", 0) == cells and of_cell["currentRevision"] == of_cell["updateRevision"] and
                of_gateway.get("observedGeneration") == gateway["metadata"]["generation"] and
                of_gateway.get("updatedReplicas") == of_gateway.get("availableReplicas") == of_gateway.get("replicas") == 2)

    @classmethod
    def until_rolled(cls, cells):
        try:
            until(lambda: cls.is_rolled(cells), f"{cells} cells are rolled out")
        except AssertionError as error:
            pods = [(pod["metadata"]["name"], pod.get("status")) for pod in cls.kube.list("Pod", NAMESPACE)]
            events = [event["message"] for event in cls.kube.list("Event", NAMESPACE)][-20:]
            notes = [note for node in cls.nodes.values() for note in node.notes][-20:]
            raise AssertionError(f"{error}\n{json.dumps(pods)}\n{events}\n{notes}") from error

    def pod(self, name):
        return self.kube.find("Pod", name, NAMESPACE)

    def is_ready(self, name, other_than=None) -> bool:
        pod = self.pod(name)
        return (pod is not None and pod["metadata"]["uid"] != other_than and "deletionTimestamp" not in pod["metadata"] and
                any(one["type"] == "Ready" and one["status"] == "True" for one in pod["status"].get("conditions", [])))

    def test_cells_are_on_nodes_of_their_own(self):
        self.assertEqual(len({self.pod(f"box-{key}")["spec"]["nodeName"] for key in (1, 2, 3)}), 3)

    def test_an_upgrade_rolls_one_cell_after_the_other_and_fails_no_request(self):
        before = {key: self.pod(f"box-{key}")["metadata"]["uid"] for key in (1, 2, 3)}

        ending_at_once = []

        def rolled() -> bool:
            ending_at_once.append(sum(pod["metadata"]["name"] in ("box-1", "box-2", "box-3") and "deletionTimestamp" in pod["metadata"]
                                      for pod in self.kube.list("Pod", NAMESPACE)))
            return self.is_rolled(3)

        def act():
            self.apply("drainSeconds: 30\nmaxSessions: 3999\n")
            until(rolled, "the upgrade is rolled out")

        under_load(self, self.sessions, act)
        self.assertEqual(max(ending_at_once), 1)
        for key in (1, 2, 3):
            self.assertNotEqual(self.pod(f"box-{key}")["metadata"]["uid"], before[key])
            self.assertIn("--max-sessions=3999", self.pod(f"box-{key}")["spec"]["containers"][0]["args"])

    def test_the_budget_lets_one_cell_go_at_a_time(self):
        uid = self.pod("box-1")["metadata"]["uid"]
        self.kube.evict("box-1", NAMESPACE)
        with self.assertRaises(Refused) as refused:
            self.kube.evict("box-2", NAMESPACE)
        self.assertEqual(refused.exception.status, 429)
        until(lambda: self.is_ready("box-1", uid), "the cell is back")

    def test_a_pod_that_is_deleted_comes_back_with_its_sessions(self):
        session = next(one for one in self.sessions if one.endswith("0002"))
        self.assertEqual(ask("POST", f"/sessions/{session}/commands", {"command": "echo kept > own"})[0], 200)
        uid = self.pod("box-2")["metadata"]["uid"]
        self.kube.delete("Pod", "box-2", NAMESPACE)
        until(lambda: self.is_ready("box-2", uid), "the cell is back")
        self.assertEqual(ask("GET", f"/sessions/{session}/files?filePath=own"), (200, b"kept\n"))

    def test_more_cells_and_fewer(self):
        def roll(values, cells):
            self.apply(values)
            self.until_rolled(cells)

        # All cells and all gateways are replaced, at once: these have other arguments, those another configuration.
        under_load(self, self.sessions, lambda: roll("drainSeconds: 30\nmaxSessions: 3998\ncells: 4\n", 4))
        until(lambda: self.create() and self.sessions[-1].endswith("0004"), "the fourth cell takes sessions")
        fourth = self.sessions[-1]
        self.assertEqual(ask("POST", f"/sessions/{fourth}/commands", {"command": "echo kept > own"})[0], 200)
        under_load(self, [one for one in self.sessions if one != fourth], lambda: roll("drainSeconds: 30\n", 3))
        until(lambda: self.pod("box-4") is None, "the fourth cell is gone")
        self.assertEqual(self.kube.get("PersistentVolumeClaim", "state-box-4", NAMESPACE)["status"]["phase"], "Bound")
        self.apply("drainSeconds: 30\ncells: 4\n")
        self.until_rolled(4)
        until(lambda: ask("GET", f"/sessions/{fourth}/files?filePath=own") == (200, b"kept\n"), "its sessions are there again")
        self.apply("drainSeconds: 30\n")
        self.until_rolled(3)
        self.sessions[:] = [session for session in self.sessions if not session.endswith("0004")]

    def test_zz_a_lost_node_keeps_its_cell_until_it_is_said_to_be_out_of_service(self):
        session = next(one for one in self.sessions if one.endswith("0003"))
        self.assertEqual(ask("POST", f"/sessions/{session}/commands", {"command": "echo kept > own"})[0], 200)
        pod = self.pod("box-3")
        uid, lost = pod["metadata"]["uid"], pod["spec"]["nodeName"]
        self.nodes[lost].lose()
        until(lambda: "deletionTimestamp" in self.pod("box-3")["metadata"], "the Pod is to go")
        for _ in range(50):  # it is to go, and nobody can say that it has
            self.assertEqual(self.pod("box-3")["metadata"]["uid"], uid)
            time.sleep(0.1)
        self.kube.patch("Node", lost, {"spec": {"taints": [*self.kube.get("Node", lost)["spec"].get("taints", []), {
            "key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"}]}})
        until(lambda: self.is_ready("box-3", uid), "the cell is on another node")
        self.assertNotEqual(self.pod("box-3")["spec"]["nodeName"], lost)
        until(lambda: ask("GET", f"/sessions/{session}/files?filePath=own") == (200, b"kept\n"), "its sessions are there")


if __name__ == "__main__":
    bounded.run(ALL_S)
