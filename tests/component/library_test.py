# SPDX-License-Identifier: Apache-2.0
"""The component's own modules, in the guests' Python: what they do that no component is needed for."""
import json
import os
import subprocess
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIBRARIES = HERE.parents[1] / "userland"


class Tracing(unittest.TestCase):
    maxDiff = None

    def test_ends_at_the_first_callback_though_the_host_answers_at_once(self):
        done = subprocess.run([os.environ["CLOCHE_PROGRAM"], "run", "--timeout", "200s", "--mount", f"{HERE}:/here:ro",
                               "--mount", f"{LIBRARIES}:/libraries:ro", "--", "python3", "-B", "/here/traced.py",
                               "/libraries/component/lib", "/libraries/python/lib"],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        wanted = ["0 call <module>", "1 line", "3 line", "1 call f", "2 line", "2 return f", "4 line", "0 callback_start echo",
                  "4 return <module>", "0 callback_end echo", "0 callback_start echo", "0 callback_end echo"]
        printed = ["{'a': 1}", "{'a': 2}", json.dumps(wanted)]
        self.assertEqual(done.stdout.splitlines(), [*printed, *printed, "['steps']"], done.stderr)


if __name__ == "__main__":
    unittest.main()
