# SPDX-License-Identifier: Apache-2.0
"""A node of Kubernetes: an agent that starts the Pods which the scheduler gives it as processes, where a kubelet would want a
container runtime. It asks the apiserver as a node, with a node's rights."""
import contextlib
import threading
import time
from pathlib import Path

from kube import Kube, Watch
from names import addresses_of_its_own
from objects import STRATEGIC, Refused, now
from pod import PodRun

BEAT_S = 1.5
ROOM = {"cpu": "16", "memory": "64Gi", "pods": "20", "ephemeral-storage": "100Gi"}


class Node:
    """Goes on until it is stopped or lost. `notes` has what was not as usual."""

    def __init__(self, name: str, zone: str, kube: Kube, network, lock, images: dict, folder: Path, dns: str):
        self.name, self.zone, self.kube, self.network, self.lock = name, zone, kube, network, lock
        self.images, self.folder, self.dns, self.address = images, folder, dns, dns
        self.logs = folder.parent / "logs"
        self.logs.mkdir(parents=True, exist_ok=True)
        folder.mkdir(parents=True, exist_ok=True)
        self.notes = []
        self.lost = threading.Event()
        self.runs, self.seen = {}, set()
        self.register()
        self.pods = Watch(kube, "Pod", f"fieldSelector=spec.nodeName={name}", self.look)
        self.heart = threading.Thread(target=self.beat, daemon=True)
        self.heart.start()

    def register(self):
        labels = {"kubernetes.io/hostname": self.name, "kubernetes.io/os": "linux", "topology.kubernetes.io/zone": self.zone}
        with contextlib.suppress(Refused):  # it is there, and comes back
            self.kube.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": self.name, "labels": labels}})
        self.tell()
        self.renew()

    def tell(self):
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "lastHeartbeatTime": now()}
        self.kube.patch("Node", self.name, {"status": {"capacity": ROOM, "allocatable": ROOM, "conditions": [ready], "addresses": [
            {"type": "InternalIP", "address": self.address}, {"type": "Hostname", "address": self.name}]}},
            media_type=STRATEGIC, more="/status")

    def renew(self):
        spec = {"holderIdentity": self.name, "leaseDurationSeconds": 8, "renewTime": now()[:-1] + ".000000Z"}
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": self.name}, "spec": spec}
        try:
            self.kube.patch("Lease", self.name, {"spec": spec}, "kube-node-lease")
        except Refused as refused:
            if refused.status != 404:
                raise
            self.kube.create(lease, "kube-node-lease")

    def beat(self):
        while not self.lost.wait(BEAT_S):
            try:
                self.renew()
                self.tell()
            except (Refused, OSError) as error:
                self.notes.append(f"{self.name}: {error!r}")

    def look(self):
        """Starts what is new here; what is to end sees that itself."""
        pods = getattr(self, "pods", None)
        if pods is None or self.lost.is_set():
            return
        for uid, pod in pods.all.items():
            if uid not in self.seen:
                self.seen.add(uid)
                self.runs[uid] = PodRun(self, pod)

    def machine(self, pod):
        own = addresses_of_its_own(pod, self.kube.list("Service", pod["metadata"]["namespace"]))
        with self.lock:
            return self.network.machine(own)

    def keep_logs(self, run):
        for process in run.processes:
            with contextlib.suppress(OSError):
                process.log.rename(self.logs / f"{run.name}-{run.uid[:8]}-{process.spec['name']}.log")

    def lose(self):
        """As if its power went: it says nothing any more, and what ran on it is gone."""
        self.lost.set()
        self.pods.stop()
        self.heart.join()
        for run in list(self.runs.values()):
            for process in run.processes:
                process.kill()
            run.thread.join(30)
        self.kube.close()

    stop = lose
