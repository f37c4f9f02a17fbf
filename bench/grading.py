#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures `POST /run_code/batch` beside a pool of native interpreters, in the same run.

    bench/grading.py PROGRAM [--count N] [--rounds N]

PROGRAM is cloche. Each grading reads a line and prints a sum. Natively it is a process of the machine's own python3 or
bash, started anew, as many at once as there are processors: without a wall around it. Both are measured in turn, round
by round, so that a machine whose speed drifts is fair to both; what is told is the best round of each.
"""
import argparse
import http.client
import json
import os
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

from servers import Server, free_port

PROGRAMS = {"python": ("print(sum(map(int, input().split())))", ["python3", "-c"]),
            "bash": ("read a b; echo $((a + b))", ["bash", "-c"])}


def by_server(port: int, language: str, count: int) -> None:
    code = PROGRAMS[language][0]
    requests = [{"code": code, "language": language, "stdin": f"{i} 1\n"} for i in range(count)]
    connection = http.client.HTTPConnection("127.0.0.1", port)
    for start in range(0, count, 256):
        connection.request("POST", "/run_code/batch", json.dumps({"requests": requests[start:start + 256]}),
                           {"Content-Type": "application/json"})
        results = json.loads(connection.getresponse().read())["results"]
        for i, one in enumerate(results, start):
            if one["run_result"]["stdout"] != f"{i + 1}\n":
                raise SystemExit(f"a wrong answer: {one}")
    connection.close()


def by_processes(language: str, count: int) -> None:
    code, words = PROGRAMS[language]

    def one(i: int) -> None:
        done = subprocess.run([*words, code], input=f"{i} 1\n", capture_output=True, text=True)
        if done.stdout != f"{i + 1}\n":
            raise SystemExit(f"a wrong answer: {done}")

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(one, range(count)))


def rate(act, count: int) -> float:
    begin = time.perf_counter()
    act()
    return count / (time.perf_counter() - begin)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=512, help="gradings of a round")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    port = free_port()
    with Server([options.program, "serve", "--port", str(port)], port) as server:
        for language in PROGRAMS:
            by_server(server.port, language, 16)
            best = {"run_code": 0.0, "processes": 0.0}
            for _ in range(options.rounds):
                best["run_code"] = max(best["run_code"], rate(
                    lambda: by_server(server.port, language, options.count), options.count))
                best["processes"] = max(best["processes"], rate(
                    lambda: by_processes(language, options.count), options.count))
            print(f"{language:8} run_code {best['run_code']:8.0f}/s   native processes {best['processes']:8.0f}/s   "
                  f"{best['run_code'] / best['processes']:.2f} times")


if __name__ == "__main__":
    main()
