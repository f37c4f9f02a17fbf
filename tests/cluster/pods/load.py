# SPDX-License-Identifier: Apache-2.0
"""The chart's gateway under load: commands in sessions, whose answers are checked line by line (driver.py)."""
import http.client
import json
import subprocess
import sys
import time
from pathlib import Path

from server import PATIENCE_S

DRIVER = Path(__file__).resolve().parents[1] / "driver.py"
TOKEN = "test-token-one"
PORT = 8088
RATE, CONNECTIONS = 40, 16


def ask(method, path, body=None, address=("127.0.0.1", PORT)):
    connection = http.client.HTTPConnection(*address, timeout=PATIENCE_S)
    try:
        connection.request(method, path, json.dumps(body) if body is not None else None,
                           {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def under_load(test, sessions, act, logs=lambda: ""):
    """What came of the load meanwhile; what was acknowledged is in the files once."""
    driver = subprocess.Popen([sys.executable, "-B", str(DRIVER), str(PORT), TOKEN, str(RATE), str(CONNECTIONS)],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    test.addCleanup(driver.kill)
    driver.stdin.write(" ".join(sessions) + "\n")
    driver.stdin.flush()
    time.sleep(2)  # the load is the test
    act()
    time.sleep(2)
    out, _ = driver.communicate("", timeout=PATIENCE_S)
    result = json.loads(out)
    test.assertEqual(result["failures"], [], logs())
    test.assertGreater(result["count"], RATE)
    for session, lines in result["acknowledged"].items():
        if lines:
            status, content = ask("GET", f"/sessions/{session}/files?filePath=log")
            test.assertEqual(status, 200, content)
            test.assertEqual(sorted(int(word) for word in content.split()), sorted(lines))
            test.assertEqual(ask("POST", f"/sessions/{session}/commands", {"command": "rm log"})[0], 200)
    print(f"\n{test.id().rpartition('.')[2]}: {result['count']} commands, the longest took {result['longest_s']:.1f} s")
