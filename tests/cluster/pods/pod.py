# SPDX-License-Identifier: Apache-2.0
"""A Pod on a node: its volumes as folders, its containers as processes, its state as the apiserver is told."""
import base64
import contextlib
import os
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

import container
from objects import STRATEGIC, Refused, now
from probe import Probe

POLL_S = 0.05
BACKOFF_S = 10  # after the second end of a container, doubled each time; the first one is started anew at once


class Process:
    """A container of a Pod, which is started anew when it ends."""

    def __init__(self, pod, spec: dict):
        self.pod, self.spec = pod, spec
        self.process, self.probes = None, {}
        self.restarts, self.started_at, self.last_end = -1, None, None
        self.not_before = 0.0
        name = spec["image"].rpartition(":")[0]
        self.image = pod.node.images[name]
        self.log = pod.folder / f"{spec['name']}.log"

    def start(self):
        pod = self.pod
        environment = dict(self.image.environment)
        for one in self.spec.get("env", []):
            value = one.get("value", "")
            if "valueFrom" in one:
                value = pod.field(one["valueFrom"]["fieldRef"]["fieldPath"])
            environment[one["name"]] = container.expand(value, environment)
        self.restarts += 1
        root = container.Root(pod.folder / f"root-{self.spec['name']}-{self.restarts}", pod.name, pod.node.dns, pod.namespace)
        for at, folder in self.image.folders.items():
            root.mount(folder, at, True)
        for mount in self.spec.get("volumeMounts", []):
            root.mount(pod.volumes[mount["name"]], mount["mountPath"], mount.get("readOnly", False))
        for at, folder in self.image.writable.items():
            root.mount(folder, at, False)
        words = [container.expand(word, environment) for word in [*self.spec["command"], *self.spec.get("args", [])]]
        spec = {"securityContext": {**pod.spec.get("securityContext", {}), **self.spec.get("securityContext", {})}}
        self.root = root
        self.process = container.start(pod.machine, root, spec, words, environment, self.log)
        self.started_at = now()
        ports = {port["name"]: port["containerPort"] for port in self.spec.get("ports", [])}
        startup = "startupProbe" in self.spec
        for kind in ("startupProbe", "livenessProbe", "readinessProbe"):
            if kind in self.spec:
                wait = (lambda: True) if kind == "startupProbe" or not startup else lambda: self.probes["startupProbe"].well is True
                self.probes[kind] = Probe(self.spec[kind], pod.machine.address, ports, wait)

    def step(self):
        """Starts it anew where it has ended, or a probe wants that."""
        if self.process is None:
            if time.monotonic() >= self.not_before:
                self.start()
        elif self.process.poll() is not None:
            self.ended("Error" if self.process.returncode else "Completed")
        elif any(self.opinion(kind) is False for kind in ("startupProbe", "livenessProbe")):
            self.pod.node.notes.append(f"{self.pod.name}: a probe wants {self.spec['name']} started anew")
            self.stop(self.pod.spec.get("terminationGracePeriodSeconds", 30))
        elif (startup := self.probes.get("startupProbe")) and startup.well:
            startup.stop()

    def ended(self, reason):
        for probe in self.probes.values():
            probe.stop()
        self.probes = {}
        code = self.process.returncode
        self.last_end = {"exitCode": code if code >= 0 else 128 - code, "reason": reason, "startedAt": self.started_at, "finishedAt": now()}
        self.process = None
        self.not_before = time.monotonic() + (BACKOFF_S * 2 ** (self.restarts - 1) if self.restarts else 0)

    def opinion(self, kind):
        probe = self.probes.get(kind)
        return probe.well if probe else None

    @property
    def ready(self):
        if self.process is None:
            return False
        if "startupProbe" in self.spec and self.opinion("startupProbe") is not True:
            return False
        return "readinessProbe" not in self.spec or self.opinion("readinessProbe") is True

    def run_hook(self):
        """preStop: a program in the container. It takes its time from what the container has to end."""
        hook = self.spec.get("lifecycle", {}).get("preStop")
        if hook and self.process and self.process.poll() is None:
            environment = {**self.image.environment, "root": str(self.root.folder)}
            inside = ["nsenter", f"--target={self.process.pid}", "--mount", "--root", "--wd=/", *hook["exec"]["command"]]
            with self.log.open("a") as out:
                self.hook = subprocess.Popen(inside, env=environment, stdout=out, stderr=out, stdin=subprocess.DEVNULL)
            return self.hook
        return None

    def stop(self, grace_s):
        """Asks it to end, and ends it where it has not done so in that time. Not a word is taken back meanwhile."""
        deadline = time.monotonic() + grace_s
        if hook := self.run_hook():
            self.wait(hook, deadline)
        if self.process and self.process.poll() is None:
            self.process.send_signal(self.image.stop_signal)
            self.wait(self.process, deadline)
        self.kill()
        if self.process:
            self.ended("Completed" if self.process.returncode == 0 else "Error")

    def wait(self, process, deadline):
        while process.poll() is None and time.monotonic() < deadline and not self.pod.node.lost.is_set():
            self.pod.report()
            time.sleep(POLL_S)
        if process.poll() is None:
            self.pod.node.notes.append(f"{self.pod.name}: {self.spec['name']} did not end in time")
            process.kill()
            process.wait()

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()

    def status(self):
        # What is asked again and again is answered alike, so that nothing is told twice.
        if self.process:
            state = {"running": {"startedAt": self.started_at}}
        elif self.last_end and (self.pod.ending or self.restarts < 0):
            state = {"terminated": self.last_end}
        else:
            state = {"waiting": {"reason": "CrashLoopBackOff" if self.last_end else "ContainerCreating"}}
        status = {"name": self.spec["name"], "image": self.spec["image"], "imageID": self.spec["image"], "ready": self.ready,
                  "restartCount": max(self.restarts, 0), "state": state,
                  "started": self.process is not None and ("startupProbe" not in self.spec or self.opinion("startupProbe") is True)}
        if self.last_end:
            status["lastState"] = {"terminated": self.last_end}
        return status


class PodRun:
    """From the moment that a node knows of a Pod until nothing of it is left there."""

    def __init__(self, node, pod: dict):
        self.node, self.pod = node, pod
        self.name, self.namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
        self.uid, self.spec = pod["metadata"]["uid"], pod["spec"]
        self.folder = node.folder / f"{self.name}-{self.uid}"
        self.folder.mkdir(parents=True)
        self.machine, self.volumes, self.processes = None, {}, []
        self.ending, self.told = False, None
        self.started_at = now()
        self.since = {}  # a condition: (what it is, since when)
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        try:
            if self.prepare():
                while not self.gone() and not self.node.lost.is_set():
                    for process in self.processes:
                        process.step()
                    self.report()
                    time.sleep(POLL_S)
            if not self.node.lost.is_set():
                self.end()
        except Exception as error:
            self.node.notes.append(f"{self.name}: the agent failed: {error!r}")
            raise
        finally:
            self.clear()

    def prepare(self) -> bool:
        """Waits for what it mounts; False where the Pod goes before."""
        while not self.gone() and not self.node.lost.is_set():
            try:
                self.volumes = {one["name"]: self.volume(one) for one in self.spec.get("volumes", [])}
                self.machine = self.node.machine(self.pod)
                self.processes = [Process(self, one) for one in self.spec["containers"]]
                return True
            except Refused as refused:  # not there yet, or not known to be this node's business yet
                self.node.notes.append(f"{self.name}: {refused}")
                time.sleep(0.5)
        return False

    def gone(self) -> bool:
        """Whether it is to end: or is not there at all any more."""
        self.pod = self.node.pods.all.get(self.uid)
        return self.pod is None or "deletionTimestamp" in self.pod["metadata"]

    def field(self, path):
        if path.startswith("metadata.labels["):
            return self.pod["metadata"]["labels"][path.split("'")[1]]
        raise ValueError(f"the agent knows no field {path}")

    # --- Volumes ---------------------------------------------------------------------------------

    def volume(self, spec) -> Path:
        folder = self.folder / "volumes" / spec["name"]
        group = self.spec.get("securityContext", {}).get("fsGroup")
        if "persistentVolumeClaim" in spec:
            claim = self.node.kube.get("PersistentVolumeClaim", spec["persistentVolumeClaim"]["claimName"], self.namespace)
            if claim["status"].get("phase") != "Bound":
                raise Refused(0, "the claim is not bound")
            folder = Path(self.node.kube.get("PersistentVolume", claim["spec"]["volumeName"])["spec"]["hostPath"]["path"])
            folder.mkdir(parents=True, exist_ok=True)
        elif "emptyDir" in spec:
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(0o777)
        else:
            folder.mkdir(parents=True, exist_ok=True)
            for name, content in self.files(spec).items():
                path = folder / name
                path.write_bytes(content)
                path.chmod(spec.get("secret", spec.get("configMap", {})).get("defaultMode", 0o644))
        if group is not None:
            if "emptyDir" in spec or "persistentVolumeClaim" in spec:
                container.give(folder, group)
            elif container.may_be(group):
                for path in folder.iterdir():
                    os.chown(path, -1, group)
        return folder

    def files(self, spec) -> dict:
        if "secret" in spec:
            data = self.node.kube.get("Secret", spec["secret"]["secretName"], self.namespace).get("data", {})
            return {name: base64.b64decode(value) for name, value in data.items()}
        if "configMap" in spec:
            data = self.node.kube.get("ConfigMap", spec["configMap"]["name"], self.namespace).get("data", {})
            return {name: value.encode() for name, value in data.items()}
        raise ValueError(f"the agent knows no such volume: {spec}")

    # --- What the apiserver is told --------------------------------------------------------------

    def condition(self, kind, holds):
        value = "True" if holds else "False"
        if self.since.get(kind, (None, None))[0] != value:
            self.since[kind] = (value, now())
        return {"type": kind, "status": value, "lastTransitionTime": self.since[kind][1]}

    def report(self):
        if self.node.lost.is_set():
            return
        ready = bool(self.processes) and all(process.ready for process in self.processes)
        status = {"phase": "Running", "startTime": self.started_at, "hostIP": self.node.address,
                  "hostIPs": [{"ip": self.node.address}], "podIP": self.machine.address, "podIPs": [{"ip": self.machine.address}],
                  "conditions": [self.condition("Initialized", True), self.condition("ContainersReady", ready),
                                 self.condition("Ready", ready)],
                  "containerStatuses": [process.status() for process in self.processes]}
        if status == self.told:
            return
        with contextlib.suppress(Refused, OSError):  # another one follows; or it is not there any more
            self.node.kube.patch("Pod", self.name, {"metadata": {"uid": self.uid}, "status": status}, self.namespace, STRATEGIC, "/status")
            self.told = status

    def end(self):
        """It ends as it has been asked to; then the apiserver may forget it."""
        self.ending = True
        if self.pod is not None:
            grace_s = self.pod["metadata"].get("deletionGracePeriodSeconds", 30)
            for process in self.processes:
                process.stop(grace_s)
            if self.machine:
                self.report()
            for process in self.processes:
                process.kill()
            with contextlib.suppress(Refused, OSError):
                self.node.kube.delete("Pod", self.name, self.namespace, {"gracePeriodSeconds": 0, "preconditions": {"uid": self.uid}})

    def clear(self):
        for process in self.processes:
            process.kill()
            for probe in process.probes.values():
                probe.stop()
        if self.machine:
            self.machine.close()
        self.node.keep_logs(self)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.node.runs.pop(self.uid, None)
