# SPDX-License-Identifier: Apache-2.0
"""A program that is asked by JSON-RPC on its standard input and output (docs/rpc.md), and its CPU time."""
import json
import os
import subprocess
import time


class Rpc:
    """`PROGRAM rpc`, with its sandbox `main`; until the end of the `with`."""

    def __init__(self, program: str, rootfs: str | None = None):
        environment = dict(os.environ, **({"CLOCHE_ROOTFS": rootfs} if rootfs else {}))
        self.process = subprocess.Popen([program, "rpc"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, env=environment)
        # The kernel's number for the CPU clock of another process (clock_getcpuclockid).
        self.cpu_clock = (~self.process.pid << 3) | 2
        self.number = 0
        self.call("create", packages=["numpy"])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()

    def call(self, method: str, **params) -> dict:
        self.number += 1
        line = json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        while True:
            answer = self.process.stdout.readline()
            if not answer:
                raise SystemExit(f"{self.process.args[0]} ended at {method}")
            answer = json.loads(answer)
            if answer.get("id") != self.number:
                continue  # a notification
            if "error" in answer:
                raise SystemExit(f"{self.process.args[0]}: {method}: {answer['error']['message']}")
            return answer["result"]

    def cpu_s(self) -> float:
        return time.clock_gettime(self.cpu_clock)
