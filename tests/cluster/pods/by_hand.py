# SPDX-License-Identifier: Apache-2.0
"""The objects of a rendered chart, and what a control plane does with them as far as Pods go, done by hand: a Pod of a
StatefulSet keeps its name and its volume and gets another address, a Pod of a Deployment is there before the old one goes."""
import base64
import itertools
import json
import shutil
import subprocess
import threading
import uuid
from pathlib import Path

import names
from network import FLOATING
from objects import Refused, now
from pod import PodRun

NAMESPACE = "agents"


def rendered(render: Path, chart: Path, values: str) -> list:
    """Objects of the chart, as render (tests/cluster/chart/render) prints them."""
    done = subprocess.run([render, chart, "box", NAMESPACE], input="image: {repository: example/cloche}\n" + values, text=True,
                          capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class Shelf:
    """Objects by kind and name, as an agent asks for them."""

    def __init__(self):
        self.all = {}
        self.lock = threading.Lock()

    def put(self, kind, body):
        with self.lock:
            self.all[kind, body["metadata"]["name"]] = body

    def get(self, kind, name, _namespace=None):
        with self.lock:
            if (kind, name) not in self.all:
                raise Refused(404, f"no {kind} {name}")
            return self.all[kind, name]

    def patch(self, kind, name, body, _namespace, _media_type, _more):
        with self.lock:
            pod = self.all.get((kind, name))
            if pod is None or pod["metadata"]["uid"] != body["metadata"]["uid"]:
                raise Refused(409, "another one")
            self.all[kind, name] = {**pod, "status": {**pod.get("status", {}), **body["status"]}}

    def delete(self, kind, name, _namespace, options):
        with self.lock:
            if self.all[kind, name]["metadata"]["uid"] != options["preconditions"]["uid"]:
                raise Refused(409, "another one")
            del self.all[kind, name]

    def of(self, kind):
        with self.lock:
            return [body for (other, _), body in self.all.items() if other == kind]


class Told:
    """What names are told of, as it is now."""

    def __init__(self, what):
        self.what = what

    @property
    def all(self):
        return self.what()


class Cluster:
    """One node, its Pods, and the names and the Service of the chart."""

    def __init__(self, network, folder: Path, images: dict, door_port: int):
        self.network, self.folder, self.images = network, folder, images
        self.dns = self.address = "10.77.0.254"
        self.kube = Shelf()
        self.lost, self.plugging = threading.Event(), threading.Lock()
        self.notes, self.runs, self.logs = [], {}, folder / "logs"
        self.logs.mkdir()
        self.numbers = itertools.count(1)
        self.services = {}
        pieces = Told(self.pieces)
        self.names = names.Names(pieces, Told(lambda: dict(self.services)), self.dns)
        self.door = names.Door(pieces, NAMESPACE, "box", door_port)

    # --- What an agent asks of its node ----------------------------------------------------------

    @property
    def pods(self):
        return self

    @property
    def all(self):
        return {pod["metadata"]["uid"]: pod for pod in self.kube.of("Pod")}

    def machine(self, pod):
        with self.plugging:
            return self.network.machine(names.addresses_of_its_own(pod, self.services.values()))

    def keep_logs(self, run):
        for process in run.processes:
            if process.log.exists():
                shutil.move(process.log, self.logs / f"{run.name}-{run.uid[:8]}.log")

    # --- What controllers do ---------------------------------------------------------------------

    def secret(self, name, **files):
        data = {key: base64.b64encode(value.encode()).decode() for key, value in files.items()}
        self.kube.put("Secret", {"metadata": {"name": name}, "data": data})

    def take(self, objects):
        for body in objects:
            self.kube.put(body["kind"], body)
            if body["kind"] == "Service":
                body["metadata"]["namespace"] = NAMESPACE
                body["spec"].setdefault("clusterIP", f"{FLOATING.rpartition('.')[0]}.{len(self.services) + 1}")
                self.services[body["metadata"]["name"]] = body

    def pieces(self):
        """The EndpointSlices of the Services there are."""
        found = {}
        for name, service in list(self.services.items()):
            ends = []
            for pod in self.kube.of("Pod"):
                status, meta = pod.get("status", {}), pod["metadata"]
                if not service["spec"]["selector"].items() <= meta["labels"].items() or "podIP" not in status:
                    continue
                serving = any(one["type"] == "Ready" and one["status"] == "True" for one in status["conditions"])
                ready = service["spec"].get("publishNotReadyAddresses", False) or (serving and "deletionTimestamp" not in meta)
                ends.append({"addresses": [status["podIP"]], "hostname": pod["spec"].get("hostname"),
                             "conditions": {"ready": ready, "serving": serving}})
            ports = {port["name"]: port["containerPort"] for pod in self.kube.of("Pod") for one in pod["spec"]["containers"]
                     for port in one["ports"] if service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()}
            found[f"slice-{name}"] = {"metadata": {"namespace": NAMESPACE, "labels": {"kubernetes.io/service-name": name}},
                                      "ports": [{"port": ports.get(service["spec"]["ports"][0]["targetPort"])}], "endpoints": ends}
        return found

    def start(self, name, template, labels=None, hostname=None, claims=()):
        spec = dict(template["spec"])
        if hostname:
            spec["hostname"] = hostname
        spec["volumes"] = [*spec.get("volumes", []), *({"name": one, "persistentVolumeClaim": {"claimName": f"{one}-{name}"}}
                                                       for one in claims)]
        pod = {"metadata": {"name": name, "namespace": NAMESPACE, "uid": uuid.uuid4().hex, "creationTimestamp": now(),
                            "labels": {**template["metadata"]["labels"], **(labels or {})}}, "spec": spec}
        self.kube.put("Pod", pod)
        self.runs[pod["metadata"]["uid"]] = PodRun(self, pod)

    def start_cell(self, key):
        body = self.kube.get("StatefulSet", "box")
        name = f"box-{key}"
        for claim in body["spec"]["volumeClaimTemplates"]:
            full = f"{claim['metadata']['name']}-{name}"
            self.kube.put("PersistentVolumeClaim", {"metadata": {"name": full}, "spec": {"volumeName": full}, "status": {"phase": "Bound"}})
            self.kube.put("PersistentVolume", {"metadata": {"name": full}, "spec": {"hostPath": {"path": str(self.folder / full)}}})
        self.start(name, body["spec"]["template"], {"apps.kubernetes.io/pod-index": str(key)}, name,
                   [claim["metadata"]["name"] for claim in body["spec"]["volumeClaimTemplates"]])

    def start_gateway(self) -> str:
        name = f"box-gateway-{next(self.numbers)}"
        self.start(name, self.kube.get("Deployment", "box-gateway")["spec"]["template"])
        return name

    def is_ready(self, name) -> bool:
        pod = self.kube.get("Pod", name)
        return any(one["type"] == "Ready" and one["status"] == "True" for one in pod.get("status", {}).get("conditions", []))

    def end(self, name):
        """As `kubectl delete pod`: it is told, and has its time."""
        pod = self.kube.get("Pod", name)
        grace = pod["spec"].get("terminationGracePeriodSeconds", 30)
        self.kube.put("Pod", {**pod, "metadata": {**pod["metadata"], "deletionTimestamp": now(), "deletionGracePeriodSeconds": grace}})

    def is_gone(self, name) -> bool:
        return not any(pod["metadata"]["name"] == name for pod in self.kube.of("Pod")) and all(
            run.name != name for run in list(self.runs.values()))

    def stop(self):
        self.lost.set()
        for run in list(self.runs.values()):
            run.thread.join(30)
        self.door.stop()
        self.names.stop()
