# SPDX-License-Identifier: Apache-2.0
"""Asks an apiserver of Kubernetes, and follows what changes there."""
import collections
import http.client
import json
import ssl
import threading
from dataclasses import dataclass
from pathlib import Path

from objects import Refused

MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"
ASK_S = 60

# Where objects of a kind are, and whether they are in a namespace.
PLACES = {
    "ConfigMap": ("api/v1", "configmaps", True), "Secret": ("api/v1", "secrets", True), "Service": ("api/v1", "services", True),
    "Pod": ("api/v1", "pods", True), "Namespace": ("api/v1", "namespaces", False), "Node": ("api/v1", "nodes", False),
    "PersistentVolume": ("api/v1", "persistentvolumes", False),
    "PersistentVolumeClaim": ("api/v1", "persistentvolumeclaims", True),
    "ServiceAccount": ("api/v1", "serviceaccounts", True), "Event": ("api/v1", "events", True),
    "StatefulSet": ("apis/apps/v1", "statefulsets", True), "Deployment": ("apis/apps/v1", "deployments", True),
    "PodDisruptionBudget": ("apis/policy/v1", "poddisruptionbudgets", True),
    "NetworkPolicy": ("apis/networking.k8s.io/v1", "networkpolicies", True),
    "HorizontalPodAutoscaler": ("apis/autoscaling/v2", "horizontalpodautoscalers", True),
    "EndpointSlice": ("apis/discovery.k8s.io/v1", "endpointslices", True),
    "Lease": ("apis/coordination.k8s.io/v1", "leases", True),
    "PriorityClass": ("apis/scheduling.k8s.io/v1", "priorityclasses", False),
    "RuntimeClass": ("apis/node.k8s.io/v1", "runtimeclasses", False),
    "StorageClass": ("apis/storage.k8s.io/v1", "storageclasses", False),
    "CustomResourceDefinition": ("apis/apiextensions.k8s.io/v1", "customresourcedefinitions", False),
    "ServiceMonitor": ("apis/monitoring.coreos.com/v1", "servicemonitors", True),
}


@dataclass(frozen=True)
class Server:
    port: int
    certificate: Path  # it has made that for itself


class Kube:
    """One who asks, by a token. Threads that ask at once have a connection each, which is kept for the next one."""

    def __init__(self, server: Server, token: str):
        self.server, self.token = server, token
        self.tls = ssl.create_default_context(cafile=str(server.certificate))
        self.free = collections.deque()
        self.warnings = []  # what the apiserver has said besides its answers

    def connect(self, timeout=ASK_S):
        return http.client.HTTPSConnection("127.0.0.1", self.server.port, timeout=timeout, context=self.tls)

    def send(self, connection, method, path, body, media_type):
        connection.request(method, path, json.dumps(body) if body is not None else None,
                           {"Authorization": f"Bearer {self.token}", "Content-Type": media_type, "Accept": "application/json"})
        return connection.getresponse()

    def ask(self, method, path, body=None, media_type="application/json"):
        """What it answers; raises Refused where that is no success."""
        while True:
            kept = bool(self.free)
            connection = self.free.pop() if kept else self.connect()
            try:
                answer = self.send(connection, method, path, body, media_type)
                content = answer.read()
                self.free.append(connection)
                break
            except (OSError, http.client.HTTPException):
                connection.close()
                if not kept:  # one that was kept may have ended meanwhile
                    raise
        self.warnings += answer.headers.get_all("Warning") or []
        said = json.loads(content) if content[:1] == b"{" else {"message": content.decode()}
        if answer.status >= 300:
            raise Refused(answer.status, said.get("message"))
        return said

    def close(self):
        while self.free:
            self.free.pop().close()

    @staticmethod
    def path(kind, name="", namespace=None, more=""):
        group, plural, inside = PLACES[kind]
        where = f"/namespaces/{namespace}" if inside and namespace else ""
        return f"/{group}{where}/{plural}{'/' + name if name else ''}{more}"

    def get(self, kind, name, namespace=None):
        return self.ask("GET", self.path(kind, name, namespace))

    def find(self, kind, name, namespace=None):
        """None where there is none."""
        try:
            return self.get(kind, name, namespace)
        except Refused as refused:
            if refused.status != 404:
                raise
            return None

    def list(self, kind, namespace=None, query=""):
        return self.ask("GET", self.path(kind, "", namespace, query))["items"]

    def create(self, body, namespace=None, query=""):
        return self.ask("POST", self.path(body["kind"], "", namespace, query), body)

    def patch(self, kind, name, body, namespace=None, media_type=MERGE, more=""):
        return self.ask("PATCH", self.path(kind, name, namespace, more), body, media_type)

    def apply(self, body, namespace=None, query=""):
        """As `kubectl apply --server-side` does, and Helm 4."""
        return self.ask("PATCH", self.path(body["kind"], body["metadata"]["name"], namespace,
                                           "?fieldManager=helm&force=true&fieldValidation=Strict" + query), body, APPLY)

    def delete(self, kind, name, namespace=None, options=None):
        return self.ask("DELETE", self.path(kind, name, namespace), options)

    def evict(self, pod, namespace):
        return self.ask("POST", self.path("Pod", pod, namespace, "/eviction"),
                        {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod, "namespace": namespace}})


class Watch:
    """The objects of a kind as they are now, in `all` by their uid; `changed` is called after each change, in the watch's thread."""

    def __init__(self, kube: Kube, kind: str, query="", changed=lambda: None):
        self.kube, self.path, self.query, self.changed = kube, Kube.path(kind), query, changed
        self.all = {}
        self.ended = threading.Event()
        self.connection = None
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.ended.is_set():
            try:
                self.follow(self.relist())
            except (OSError, http.client.HTTPException, Refused, ValueError, AttributeError):
                self.ended.wait(0.2)  # AttributeError: the connection was closed while it was read

    def relist(self):
        said = self.kube.ask("GET", f"{self.path}?{self.query}")
        self.all = {one["metadata"]["uid"]: one for one in said["items"]}
        self.changed()
        return said["metadata"]["resourceVersion"]

    def follow(self, version):
        self.connection = self.kube.connect(ASK_S)
        try:
            answer = self.kube.send(self.connection, "GET", f"{self.path}?watch=1&timeoutSeconds=30&resourceVersion={version}"
                                    f"&{self.query}", None, "application/json")
            if answer.status != 200:
                raise Refused(answer.status, answer.read().decode())
            while (line := answer.readline()) and not self.ended.is_set():
                self.take(json.loads(line))
        finally:
            self.connection.close()

    def take(self, event):
        if event["type"] == "ERROR":
            raise Refused(event["object"].get("code"), event["object"].get("message"))
        uid = event["object"]["metadata"]["uid"]
        if event["type"] == "DELETED":
            self.all = {key: one for key, one in self.all.items() if key != uid}
        else:
            self.all = {**self.all, uid: event["object"]}
        self.changed()

    def stop(self):
        self.ended.set()
