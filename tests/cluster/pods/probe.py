# SPDX-License-Identifier: Apache-2.0
"""Probes by HTTP, as the kubelet has them: each asks by itself, and has an opinion."""
import http.client
import threading


class Probe:
    """`well` is None until it has an opinion. It begins when `may_ask` says so."""

    def __init__(self, spec: dict, address: str, ports: dict, may_ask=lambda: True):
        self.path = spec["httpGet"].get("path", "/")
        port = spec["httpGet"]["port"]
        self.address, self.port = address, ports.get(port, port)
        self.period_s = spec.get("periodSeconds", 10)
        self.timeout_s = spec.get("timeoutSeconds", 1)
        self.failures_wanted = spec.get("failureThreshold", 3)
        self.successes_wanted = spec.get("successThreshold", 1)
        self.may_ask = may_ask
        self.well = None
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        good = bad = 0
        while not self.ended.is_set():
            if not self.may_ask():
                self.ended.wait(0.1)
                continue
            if self.answers():
                good, bad = good + 1, 0
            else:
                good, bad = 0, bad + 1
            if good >= self.successes_wanted:
                self.well = True
            elif bad >= self.failures_wanted:
                self.well = False
            self.ended.wait(self.period_s)

    def answers(self) -> bool:
        connection = http.client.HTTPConnection(self.address, self.port, timeout=self.timeout_s)
        try:
            connection.request("GET", self.path, headers={"User-Agent": "kube-probe/1"})
            return 200 <= connection.getresponse().status < 400
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def stop(self):
        self.ended.set()
