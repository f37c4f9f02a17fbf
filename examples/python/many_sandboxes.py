# SPDX-License-Identifier: Apache-2.0
"""A thousand sandboxes, one for each number, with a progress bar: many_sandboxes.py [COUNT]

Each is a fork of one in which Python is started and the work is prepared.
"""
import sys

from cloche import Sandbox, map_sandboxes

PREPARED = """
def steps(number):
    count = 0
    while number != 1:
        number = number // 2 if number % 2 == 0 else 3 * number + 1
        count += 1
    return count
"""


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with Sandbox() as base:
        base.python.execute(PREPARED, check=True)
        steps = map_sandboxes(lambda sandbox, number: int(sandbox.python.execute(f"steps({number})", check=True).result or 0),
                              range(1, count + 1), base=base, progress=True, label="numbers")
    longest = max(range(count), key=lambda at: steps[at])
    print(f"{count} sandboxes; {longest + 1} takes {steps[longest]} steps")


if __name__ == "__main__":
    main()
