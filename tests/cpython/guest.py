# SPDX-License-Identifier: Apache-2.0
"""Runs one module of CPython's tests in a sandbox, and tells how each of its tests ended: a line of JSON each.

    python3 guest.py MODULE SECONDS [DONE]

DONE is a file of tests that an earlier run has told of: they are not run again.
"""
import json
import os
import signal
import sys
import tempfile
import unittest


class TooLong(BaseException):
    """A test took more than its time."""


class Told(unittest.TestResult):
    def __init__(self, out, limit, done):
        super().__init__()
        self.out, self.limit, self.done = out, limit, done
        self.worst, self.alarms = {}, 0

    def tell(self, **what):
        os.write(self.out, json.dumps(what).encode() + b"\n")

    def too_long(self, *_):
        self.alarms += 1
        if self.alarms > 5:  # it goes on all the same
            os._exit(3)
        raise TooLong(f"more than {self.limit:.0f} s")

    def startTest(self, test):
        super().startTest(test)
        self.tell(start=test.id())
        self.alarms = 0
        signal.setitimer(signal.ITIMER_REAL, self.limit, 1)

    def stopTest(self, test):
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self.too_long)  # tests have handlers of their own
        super().stopTest(test)
        outcome, why = self.worst.pop(test.id(), ("pass", ""))
        self.tell(test=test.id(), outcome=outcome, why=why)

    def _failed(self, test, error):
        text = str(error[1]).strip() if error else "subtest"
        first = f"{error[0].__name__}: {text}" if error else text
        last = error[2] if error else None
        while last is not None and last.tb_next is not None:
            last = last.tb_next
        place = f" [{os.path.basename(last.tb_frame.f_code.co_filename)}:{last.tb_lineno}]" if last is not None else ""
        name = test.id() if isinstance(test, unittest.TestCase) else getattr(test, "test_case", test).id()
        if hasattr(test, "test_case"):
            name = test.test_case.id()
        if name.startswith(("setUpClass", "setUpModule", "tearDown")):
            self.tell(test=name, outcome="fail", why=(first + place)[:400])
        else:
            self.worst.setdefault(name, ("fail", (first + place)[:400]))

    def addError(self, test, err):
        super().addError(test, err)
        self._failed(test, err)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._failed(test, err)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._failed(test, err)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.worst.setdefault(test.id(), ("skip", reason[:200]))

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.worst.setdefault(test.id(), ("fail", "unexpected success"))


def flat(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flat(test)
        else:
            yield test


def without(suite, names):
    """The suite less the tests of these names, in the classes and modules that it has."""
    kept = unittest.TestSuite()
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            kept.addTest(without(test, names))
        elif test.id() not in names:
            kept.addTest(test)
    return kept


def make_importable():
    """Tests of all pools name the one of interpreters, of which this CPython has one only; those of multiprocessing ask for `fork` before
    they are told which way of starting they are for."""
    import concurrent.futures
    from test import support
    support.skip_if_broken_multiprocessing_synchronize = lambda: None

    class InterpreterPoolExecutor:
        def __init__(self, *_, **__):
            raise unittest.SkipTest("no interpreters within the interpreter")

    concurrent.futures.__dict__.setdefault("InterpreterPoolExecutor", InterpreterPoolExecutor)


def main():
    module, limit = sys.argv[1], float(sys.argv[2])
    done = set()
    if len(sys.argv) > 3:
        with open(sys.argv[3], encoding="utf-8") as file:
            done = set(file.read().split("\n"))
    del sys.path[0]
    work = tempfile.mkdtemp()
    os.chdir(work)
    out = os.dup(1)
    sink = os.open("output", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
    os.dup2(sink, 1)
    os.dup2(sink, 2)
    os.close(sink)

    result = Told(out, limit, done)
    signal.signal(signal.SIGALRM, result.too_long)
    try:
        from test import support
        make_importable()
        support.verbose = 0
        support.use_resources = ["curses"]
        loader = unittest.defaultTestLoader
        suite = loader.loadTestsFromName(f"test.{module}")
        for error in loader.errors:
            result.tell(test=f"test.{module}", outcome="fail", why=error.strip().splitlines()[-1][:400])
        if loader.errors:
            suite = unittest.TestSuite()
    except unittest.SkipTest as error:
        result.tell(test=f"test.{module}", outcome="skip", why=str(error)[:200])
        suite = unittest.TestSuite()
    except BaseException as error:
        result.tell(test=f"test.{module}", outcome="fail", why=f"{type(error).__name__}: {error}"[:400])
        suite = unittest.TestSuite()
    try:
        without(suite, done).run(result)
    except TooLong as error:
        result.tell(error=str(error))
        os._exit(3)
    result.tell(end=True)
    os._exit(0)


if __name__ == "__main__":
    main()
elif __name__ == "__mp_main__":  # a process of a pool, which imports what the tests name
    make_importable()
