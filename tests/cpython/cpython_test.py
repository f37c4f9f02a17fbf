#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs CPython's own tests of the modules that agents meet, in sandboxes, and holds the failures against a list.

    cpython_test.py --cloche PROGRAM [--tests FOLDER] [--jobs N] [--seconds S] [--report FILE] [MODULE ...]

FOLDER has CPython's package `test`; without it the one of suite.toml is fetched. Each module of modules.txt runs in a sandbox of its own, N at a time. A test that fails must be in
expected.toml, under a reason; one that is there and passes, or is not there any more, must leave it. Without MODULE all of them run.
Exit 0 where the two agree; 1 where they do not, with what to change.
"""
import argparse
import concurrent.futures
import json
import os
import selectors
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path += [str(HERE.parents[1] / "userland" / "build"), str(HERE.parent)]

from expectations import expected, judge  # noqa: E402

MODULE_SECONDS = 1500
RESTARTS = 40  # of a module's run, each after a test that ended the process


def fetched(folder):
    """The package `test` of suite.toml, unpacked in `folder`."""
    import common
    import sources
    try:
        for package in tomllib.loads((HERE / "suite.toml").read_text())["package"]:
            subprocess.run(["dpkg-deb", "-x", sources.fetch(package), folder], check=True)
    except common.BuildError as error:
        sys.exit(str(error))
    return str(next(Path(folder).glob("usr/lib/python3.*/test")))


def modules():
    lines = (HERE / "modules.txt").read_text().splitlines()
    return [name for line in lines for name in line.partition("#")[0].split()]


def run_once(options, module, done):
    """(lines told, how the process ended) of one run that leaves out what is `done`."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "done").write_text("\n".join(done))
        command = [options.cloche, "run", "--timeout", f"{MODULE_SECONDS}s", "--memory", "2G", "--fs-limit", "1G", "--processes", "200",
                   "--net", "localhost", "--mount", f"{options.tests}:/usr/lib/python3.15/test:ro", "--mount", f"{HERE}:/opt/cpython/run:ro",
                   "--mount", f"{folder}:/opt/cpython/state:ro", "--",
                   "python3", "/opt/cpython/run/guest.py", module, str(options.seconds), "/opt/cpython/state/done"]
        output, errors, status = heard(command, 4 * options.seconds)
    told = []
    for line in output.splitlines():
        try:
            told.append(json.loads(line))
        except ValueError:
            pass
    if status is None:
        return told, f"more than {4 * options.seconds} s without hearing the alarm"
    last = (errors.decode(errors="replace").strip().splitlines() or [""])[-1]
    return told, f"status {status}: {last}"[:300]


def heard(command, patience):
    """(output, errors, status) of a command; the status is None where it was killed, since it said nothing for so many seconds."""
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors)
        output, silent = b"", False
        with process, selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while not silent:
                silent = not selector.select(patience)
                piece = b"" if silent else os.read(process.stdout.fileno(), 1 << 16)
                output += piece
                if not piece:
                    break
            if silent:
                process.kill()
        errors.seek(0)
        return output, errors.read(), None if silent else process.returncode


def run_module(options, module):
    """{test: (outcome, why)} of a module, also where tests end the process."""
    results = {}
    for _ in range(RESTARTS):
        before = len(results)
        told, how = run_once(options, module, results)
        started = None
        whole = False
        for line in told:
            if "start" in line:
                started = line["start"]
            elif "test" in line:
                results[line["test"]] = (line["outcome"], line["why"])
            elif "error" in line:
                how = line["error"]
            elif "end" in line:
                whole = True
        if whole:
            return results
        if started is not None and started not in results:
            results[started] = ("fail", how)
        elif len(results) == before:
            results.setdefault(f"test.{module}", ("fail", how))
            return results
    results[f"test.{module}"] = ("fail", f"more than {RESTARTS} of its tests end the process")
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cloche", required=True, type=os.path.abspath)
    parser.add_argument("--tests", type=os.path.abspath)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=int, default=60, help="a test's limit")
    parser.add_argument("--report", type=Path, help="a file that gets each test's outcome, a line of JSON each")
    parser.add_argument("modules", nargs="*")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        options.tests = options.tests or fetched(folder)
        return compare(options)


def compare(options):
    names = options.modules or modules()
    results, ended = {}, 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        futures = {pool.submit(run_module, options, name): name for name in names}
        for future in concurrent.futures.as_completed(futures):
            found = future.result()
            ended += 1
            outcomes = [outcome for outcome, _ in found.values()]
            print(f"{ended}/{len(names)} {futures[future]}: {outcomes.count('pass')} pass, {outcomes.count('fail')} fail, "
                  f"{outcomes.count('skip')} skipped", flush=True)
            results |= found
            if options.report:
                with options.report.open("a") as file:
                    file.writelines(json.dumps([name, *outcome]) + "\n" for name, outcome in found.items())
    unexpected, stale = judge(results, expected(HERE / "expected.toml"), not options.modules, "expected.toml")
    for sentence in unexpected + stale:
        print(sentence)
    outcomes = [outcome for outcome, _ in results.values()]
    passed, failed = outcomes.count("pass"), outcomes.count("fail")
    share = 100 * passed / max(1, passed + failed)
    print(f"{passed} passed, {failed} failed as expected or not ({share:.1f} % pass), {outcomes.count('skip')} skipped; "
          f"{len(unexpected)} failures and {len(stale)} entries of the list are not as expected")
    return 1 if unexpected or stale or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
