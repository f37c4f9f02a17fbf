# SPDX-License-Identifier: Apache-2.0
"""The job server of the guests' build: GNU make takes its jobs from it, and what is lost comes back.

    jobs_test.py SOURCE
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest

SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(SOURCE / "userland" / "build"))

from jobs import JobServer  # noqa: E402


class Jobs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def server(self, jobs):
        server = JobServer(jobs)
        self.addCleanup(server.close)
        return server

    def make(self, server, makefile):
        (self.folder / "Makefile").write_text(makefile)
        with server.token():
            return subprocess.run(["make", "-s", "all"], cwd=self.folder, pass_fds=server.files, timeout=60, check=False,
                                  env={"PATH": os.environ["PATH"], "MAKEFLAGS": server.makeflags}, capture_output=True, text=True)

    def test_a_make_that_is_alone_has_all_jobs(self):
        os.mkfifo(self.folder / "meet")
        done = self.make(self.server(2), "all: a b\na:\n\t: <meet\nb:\n\t: >meet\n")  # each waits for the other
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")

    def test_with_one_token_a_make_does_one_thing_at_a_time(self):
        rule = "\n".join(f"{name}:\n\tmkdir lock; ls / >out.{name}; rmdir lock" for name in "abcdef")
        done = self.make(self.server(1), f"all: a b c d e f\n{rule}\n")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_no_more_hold_a_token_than_there_are(self):
        server, counts, lock = self.server(2), [0, 0], threading.Lock()

        def work():
            with server.token():
                with lock:
                    counts[0] += 1
                    counts[1] = max(counts)
                subprocess.run(["true"], check=True)
                with lock:
                    counts[0] -= 1

        threads = [threading.Thread(target=work) for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=60)
        self.assertEqual(counts[0], 0)
        self.assertLessEqual(counts[1], 2)

    def test_tokens_that_went_with_a_killed_make_come_back(self):
        server = self.server(3)
        self.assertEqual(len(os.read(server.files[0], 100)), 3)
        with server.token():
            self.assertEqual(len(os.read(server.files[0], 100)), 2)


if __name__ == "__main__":
    unittest.main()
