# SPDX-License-Identifier: Apache-2.0
"""Tests in processes, mounts and a network of their own, which end themselves in time and all that they have started."""
import os
import sys
import threading
import time
import unittest

from network import enter


def run(seconds, before_end=lambda: None):
    """The tests of the program, which begins anew in its namespaces; `before_end`: what is to be put away where the time is over."""
    enter("--pid", "--fork", "--kill-child", "--mount", "--mount-proc")
    threading.Thread(target=_end_in_time, args=(seconds, before_end), daemon=True).start()
    unittest.main()


def _end_in_time(seconds, before_end):
    time.sleep(seconds)
    print("the test takes too long", file=sys.stderr)
    before_end()
    os._exit(1)  # and with this first process of the namespace all others
