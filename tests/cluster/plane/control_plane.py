# SPDX-License-Identifier: Apache-2.0
"""etcd, kube-apiserver, kube-controller-manager and kube-scheduler as processes of the test, with tokens and keys of their own."""
import json
import secrets
import subprocess
import time
from pathlib import Path

from kube import Kube, Server
from network import FLOATING
from objects import Refused

API_PORT = 6443
START_S = 240
# Who a token is, and what it may: the roles are Kubernetes' own.
USERS = {
    "admin": ("admin", "system:masters"),
    "kube-controller-manager": ("system:kube-controller-manager", ""),
    "kube-scheduler": ("system:kube-scheduler", ""),
}


class ControlPlane:
    """Listens on the loopback of the namespace that the test is in. `log` has what each program says."""

    def __init__(self, programs: Path, etcd: str, folder: Path, address: str, nodes: list):
        self.programs, self.folder = programs, folder
        self.processes = {}
        folder.mkdir(parents=True, exist_ok=True)
        self.users = {**USERS, **{node: (f"system:node:{node}", "system:nodes") for node in nodes}}
        self.tokens = {name: secrets.token_hex(16) for name in self.users}
        (folder / "tokens.csv").write_text("".join(f'{self.tokens[name]},{user},{user},"{group}"\n'
                                                   for name, (user, group) in self.users.items()))
        subprocess.run(["openssl", "genrsa", "-out", str(folder / "accounts.key"), "2048"], check=True, capture_output=True)
        try:
            self.start(etcd, address)
        except BaseException:
            self.stop()
            raise

    def start(self, etcd, address):
        self.run("etcd", [etcd, "--data-dir", self.folder / "etcd", "--listen-client-urls", "http://127.0.0.1:2379",
                          "--advertise-client-urls", "http://127.0.0.1:2379", "--listen-peer-urls", "http://127.0.0.1:2380",
                          "--initial-advertise-peer-urls", "http://127.0.0.1:2380", "--initial-cluster",
                          "default=http://127.0.0.1:2380", "--log-level", "warn", "--logger", "zap"])
        key = self.folder / "accounts.key"
        self.run("kube-apiserver", [
            self.programs / "kube-apiserver", "--etcd-servers=http://127.0.0.1:2379", "--bind-address=127.0.0.1",
            f"--secure-port={API_PORT}", f"--advertise-address={address}", "--endpoint-reconciler-type=none",
            f"--cert-dir={self.folder / 'certificates'}", f"--token-auth-file={self.folder / 'tokens.csv'}",
            "--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--anonymous-auth=false",
            f"--service-account-key-file={key}", f"--service-account-signing-key-file={key}",
            "--service-account-issuer=https://kubernetes.default.svc", f"--service-cluster-ip-range={FLOATING}",
            # A lost node is told in seconds here, not in five minutes.
            "--default-not-ready-toleration-seconds=2", "--default-unreachable-toleration-seconds=2"])
        self.server = Server(API_PORT, self.folder / "certificates/apiserver.crt")
        self.admin = self.until_it_answers()
        of_controllers = [f"--service-account-private-key-file={key}", "--use-service-account-credentials", "--node-monitor-period=1s",
                          "--node-monitor-grace-period=8s", "--concurrent-statefulset-syncs=2"]
        for name, more in [("kube-controller-manager", of_controllers), ("kube-scheduler", [])]:
            self.run(name, [self.programs / name, f"--kubeconfig={self.config(name)}", "--leader-elect=false",
                            "--bind-address=127.0.0.1", f"--cert-dir={self.folder / name}", *more])

    def run(self, name, words):
        with (self.folder / f"{name}.log").open("w") as log:
            self.processes[name] = subprocess.Popen([str(word) for word in words], stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                                    cwd=self.folder)

    def log(self, name):
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def check(self):
        for name, process in self.processes.items():
            assert process.poll() is None, f"{name} has ended:\n" + self.log(name)[-3000:]

    def until_it_answers(self):
        deadline, admin = time.monotonic() + START_S, None
        while True:
            self.check()
            try:
                admin = admin or self.kube("admin")
                admin.ask("GET", "/readyz")
                return admin
            except (OSError, Refused) as error:
                if time.monotonic() > deadline:
                    raise AssertionError("the apiserver does not answer:\n" + self.log("kube-apiserver")[-3000:]) from error
                time.sleep(0.2)

    def kube(self, name) -> Kube:
        return Kube(self.server, self.tokens[name])

    def config(self, name) -> Path:
        path = self.folder / f"{name}.kubeconfig"
        path.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{"name": "test", "cluster": {"server": f"https://127.0.0.1:{API_PORT}",
                                                      "certificate-authority": str(self.server.certificate)}}],
            "users": [{"name": name, "user": {"token": self.tokens[name]}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": name}}]}))
        path.chmod(0o600)
        return path

    def stop(self):
        for process in reversed(self.processes.values()):
            process.kill()
            process.wait()
