# SPDX-License-Identifier: Apache-2.0
"""An apiserver of Kubernetes takes all objects of the rendered chart, in a namespace that lets no privilege in: it says neither that it
knows a field not, nor that a Pod asks for too much.
"""
import copy
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "pods"), str(HERE / "plane"), str(HERE.parent / "http")]
import bounded  # noqa: E402
import build  # noqa: E402
from by_hand import rendered  # noqa: E402
from control_plane import ControlPlane  # noqa: E402
from network import IP, Network  # noqa: E402
from objects import Refused  # noqa: E402
from server import until  # noqa: E402

CHART = HERE.parents[1] / "deploy/helm/cloche"
ETCD = shutil.which("etcd", path=os.environ["PATH"] + ":/usr/sbin")
NAMESPACE, INSTALLED = "agents", "installed"  # where it is asked for, and where it is
ALL_S = 600  # then the test ends itself, and all that it has started
STRICT = "?dryRun=All&fieldValidation=Strict"
VARIANTS = [
    "", "autoscaling: {enabled: true}\n", "networkPolicy: {enabled: true}\notlpEndpoint: http://collector:4318\n",
    "networkPolicy: {enabled: true, allowEgress: true}\nsshHostKeySecret: keys\n", "dashboard: {enabled: true}\n",
    "gateway: {enabled: false}\nstorage: {enabled: false}\n", "maxTokenSessions: 5\nstrictTokenSessions: true\nextraArgs: [--take-keys]\n",
    "tlsSecret: cells-tls\nserviceMonitor: {enabled: true, labels: {team: agents}}\n", "serviceMonitor: {enabled: true}\n",
    "service: {type: LoadBalancer, annotations: {a.example/b: c}}\nsshHostKeySecret: keys\n",
    "storage: {className: fast, size: 5Gi}\nnodeSelector: {disk: fast}\ntolerations: [{key: agents, operator: Exists}]\n",
    "image: {repository: example/cloche, pullSecrets: [{name: pull}]}\nruntimeClassName: gvisor\npriorityClassName: agents\n",
]
TEXT = {"type": "string"}
TEXTS = {"type": "object", "additionalProperties": TEXT}
KEY_OF_SECRET = {"type": "object", "properties": {"name": TEXT, "key": TEXT}}
# What of Prometheus' own definition the chart uses.
MONITORS = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "metadata": {"name": "servicemonitors.monitoring.coreos.com"},
    "spec": {"group": "monitoring.coreos.com", "scope": "Namespaced",
             "names": {"kind": "ServiceMonitor", "plural": "servicemonitors", "singular": "servicemonitor"},
             "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
                 "type": "object", "properties": {"spec": {"type": "object", "required": ["endpoints", "selector"], "properties": {
                     "selector": {"type": "object", "properties": {"matchLabels": TEXTS}},
                     "endpoints": {"type": "array", "items": {"type": "object", "properties": {
                         "port": TEXT, "path": TEXT, "interval": TEXT, "scheme": TEXT,
                         "tlsConfig": {"type": "object", "properties": {
                             "serverName": TEXT, "ca": {"type": "object", "properties": {"secret": KEY_OF_SECRET}}}}}}}}}}}}}]}}


def pod_of(body) -> dict:
    """A Pod as its controller makes it."""
    template = body["spec"]["template"]
    spec = copy.deepcopy(template["spec"])
    claims = body["spec"].get("volumeClaimTemplates", [])
    spec["volumes"] += [{"name": one["metadata"]["name"], "persistentVolumeClaim": {"claimName": "claim"}} for one in claims]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {**template["metadata"], "name": "pod"}, "spec": spec}


@unittest.skipUnless(IP and ETCD and build.has(build.folder()), "no control plane: tests/cluster/plane/build.py, and scripts/setup "
                     "packages-cluster.txt")
class ChartAdmissionTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        subprocess.run(["go", "build", "-o", cls.folder / "render", "./render"], cwd=HERE / "chart", check=True)
        network = Network()
        cls.addClassCleanup(network.close)
        cls.plane = ControlPlane(build.folder(), ETCD, cls.folder / "plane", "10.77.0.254", [])
        cls.addClassCleanup(cls.plane.stop)
        cls.kube = cls.plane.admin
        cls.kube.create(MONITORS)
        until(cls.knows_monitors, "there are ServiceMonitors")
        cls.kube.create({"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "gvisor"}, "handler": "runsc"})
        cls.kube.create({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "agents"}, "value": 1000})
        levels = {f"pod-security.kubernetes.io/{act}": "restricted" for act in ("enforce", "warn")}
        for name in (NAMESPACE, INSTALLED):
            cls.kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": levels}})
            until(lambda name=name: cls.kube.find("ServiceAccount", "default", name), "the namespace has its account")

    @classmethod
    def knows_monitors(cls) -> bool:
        kind = cls.kube.get("CustomResourceDefinition", MONITORS["metadata"]["name"])
        return any(one["type"] == "Established" and one["status"] == "True" for one in kind.get("status", {}).get("conditions") or [])

    def setUp(self):
        self.kube.warnings.clear()
        self.addCleanup(self.plane.check)

    def render(self, values):
        return rendered(self.folder / "render", CHART, values)

    def test_all_variants_are_taken_without_a_warning(self):
        for values in VARIANTS:
            with self.subTest(values):
                self.kube.warnings.clear()
                for body in self.render(values):
                    self.kube.create(body, NAMESPACE, STRICT)
                    self.kube.apply(body, NAMESPACE, "&dryRun=All")
                    if "template" in body.get("spec", {}):
                        self.kube.create(pod_of(body), NAMESPACE, STRICT)
                self.assertEqual(self.kube.warnings, [])

    def test_an_installed_chart_is_changed_to_what_its_values_say(self):
        for body in self.render(""):
            self.kube.apply(body, INSTALLED)
        changed = "cells: 5\nmaxSessions: 99\ndrainSeconds: 7\ngateway: {replicas: 3}\n"
        for body in self.render(changed):
            self.kube.apply(body, INSTALLED)
        cells, gateway = self.kube.get("StatefulSet", "box", INSTALLED), self.kube.get("Deployment", "box-gateway", INSTALLED)
        self.assertEqual((cells["spec"]["replicas"], gateway["spec"]["replicas"]), (5, 3))
        self.assertIn("--max-sessions=99", cells["spec"]["template"]["spec"]["containers"][0]["args"])
        self.assertIn("box-cell-5.agents", self.kube.get("ConfigMap", "box-gateway", INSTALLED)["data"]["haproxy.cfg"])
        self.assertEqual(self.kube.warnings, [])

    def test_a_pod_that_asks_for_more_is_refused(self):
        body = next(one for one in self.render("") if one["kind"] == "StatefulSet")
        body["spec"]["template"]["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = True
        self.kube.create(body, NAMESPACE, STRICT)
        self.assertIn("allowPrivilegeEscalation", "".join(self.kube.warnings))
        with self.assertRaises(Refused) as refused:
            self.kube.create(pod_of(body), NAMESPACE, STRICT)
        self.assertEqual(refused.exception.status, 403)

    def test_a_field_that_kubernetes_does_not_know_is_refused(self):
        body = next(one for one in self.render("") if one["kind"] == "StatefulSet")
        body["spec"]["template"]["spec"]["drainSeconds"] = 30
        with self.assertRaises(Refused) as refused:
            self.kube.create(body, NAMESPACE, STRICT)
        self.assertIn("drainSeconds", str(refused.exception))


if __name__ == "__main__":
    bounded.run(ALL_S)
