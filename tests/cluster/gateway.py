# SPDX-License-Identifier: Apache-2.0
"""HAProxy as a service has it: a master process, whose workers are replaced when its configuration changes."""
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from server import PROGRAM, until

HAPROXY = shutil.which("haproxy", path=os.environ["PATH"] + ":/usr/sbin")


class Gateway:
    """Not there until it is told of cells."""

    def __init__(self, config: Path):
        self.config, self.process = config, None

    def take(self, listen: str, cells: dict, answers) -> set:
        """Leads to `cells`, places by their keys, from now on: returns once it `answers`, and which workers were there before. They
        go on with what they have begun, and their socket is the new one's, so that no connection is lost."""
        words = [word for key, place in cells.items() for word in ["--cell", f"{key}={place}"]]
        self.config.write_text(subprocess.run([PROGRAM, "route", "--haproxy", "--listen", listen, *words],
                                              check=True, capture_output=True, text=True).stdout)
        before = set()
        if self.process:
            before = self.workers()
            self.process.send_signal(signal.SIGUSR2)
        else:
            words = [HAPROXY, "-W", "-db", "-f", str(self.config)]
            self.process = subprocess.Popen(words, stderr=subprocess.DEVNULL, start_new_session=True)
        until(lambda: self.workers() - before and answers(), "the gateway answers")
        return before

    def workers(self) -> set:
        assert self.process.poll() is None, "HAProxy does not take its configuration"
        return set(Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split())

    def until_gone(self, workers: set):
        until(lambda: not self.workers() & workers, "old workers of the gateway have ended")

    def end(self, workers: set, patience_s: float):
        """Those that have not ended by themselves in that time."""
        deadline = time.monotonic() + patience_s
        while self.workers() & workers and time.monotonic() < deadline:
            time.sleep(0.02)
        for worker in self.workers() & workers:
            os.kill(int(worker), signal.SIGKILL)
        self.until_gone(workers)

    def kill(self):
        """With all its workers."""
        if self.process:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None
