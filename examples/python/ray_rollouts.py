# SPDX-License-Identifier: Apache-2.0
"""Rewards for groups of answers, on all nodes of a Ray cluster: ray_rollouts.py [GROUPS]

Each group is a sandbox with a task and its tests, and a fork of it for each answer that a model has given.
"""
import sys
from typing import List, Optional

import ray

from cloche.ray import SandboxLost, SandboxPool

TESTS = """
import unittest
from answer import digits

class Digits(unittest.TestCase):
    def test_sums(self):
        self.assertEqual([digits(n) for n in (0, 7, 1234, 999)], [0, 7, 10, 27])
"""
ANSWERS = [  # what a model would be asked for
    "def digits(n): return sum(map(int, str(n)))",
    "def digits(n): return n % 9",
    "def digits(n):\n    while n: pass\n    return n",
    "def digits(n): return n % 10 + (digits(n // 10) if n else 0)",
]


@ray.remote(num_cpus=1)
def rewards(pool: SandboxPool, answers: List[str]) -> List[Optional[float]]:
    """1.0 for each that passes, 0.0 for others. None where a sandbox was lost: that says nothing of the answer."""
    try:
        with pool.create() as base:
            base.files.write("test_answer.py", TESTS)
            forks = pool.fork(base, len(answers))
    except SandboxLost:
        return [None] * len(answers)
    told: List[Optional[float]] = []
    for sandbox, answer in zip(forks, answers):
        try:
            with sandbox:
                sandbox.files.write("answer.py", answer)
                done = sandbox.commands.run("python3 -m unittest -q test_answer", timeout_ms=2000)
                told.append(1.0 if done.exit_code == 0 else 0.0)
        except SandboxLost:
            told.append(None)
    return told


def main() -> None:
    groups = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    with SandboxPool() as pool:
        told = [reward for group in ray.get([rewards.remote(pool, ANSWERS) for _ in range(groups)]) for reward in group]
    known = [reward for reward in told if reward is not None]
    print(f"{groups} groups of {len(ANSWERS)} answers: the mean reward is {sum(known) / len(known):.2f}; "
          f"{len(told) - len(known)} of {len(told)} are not known")


if __name__ == "__main__":
    main()
