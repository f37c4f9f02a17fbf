# SPDX-License-Identifier: Apache-2.0
"""scripts/build tells how far it is, how long it may take, and what failed.

    build_test.py SOURCE
"""

import importlib.machinery
import importlib.util
import os
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
loader = importlib.machinery.SourceFileLoader("build_script", str(SOURCE / "scripts" / "build"))
build = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
loader.exec_module(build)


class Build(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.addCleanup(mock.patch.stopall)
        mock.patch.multiple(build, ROOT=self.folder, LOGS=self.folder, BUILD=self.folder / "build").start()

    def test_reads_how_far_the_compiler_and_the_ports_are(self):
        program, guests = build.Step("C++", ["ninja"], 0), build.Step("guest programs", ["userland"])
        program.see("[50/200] Building CXX object a.o")
        for line in ("userland: 4 ports to build, about 10 minutes of CPU", "userland: building git 2.39.5",
                     "userland: building perl 5.40.1", "userland: built git 2.39.5, 90 s of CPU: 1 of 4 ports, 40 % of the work"):
            guests.see(line)
        self.assertEqual(program.words(), "C++ 50 of 200")
        self.assertEqual(guests.words(), "guest programs 1 of 4 (perl)")
        self.assertEqual((program.share, guests.share, guests.weight), (0.25, 0.4, 600))

    def test_the_words_of_the_ports_are_those_of_the_guests_build(self):
        said = (SOURCE / "userland" / "build" / "build.py").read_text() + (SOURCE / "userland" / "build" / "ports.py").read_text()
        for words in ("ports to build, about", "minutes of CPU", "building {port.name}", "built {port.name}", "ports, ", "% of the work"):
            self.assertIn(words, said)

    def test_tells_what_is_left_by_what_was_done(self):
        line = build.Line()
        done, open_ended = build.Step("a", ["a"], 100), build.Step("b", ["b"])
        done.share = 0.5
        now = line.started + 60
        self.assertEqual(line.left([done], 50, now), "; about 2 min left")
        self.assertEqual(line.left([done, open_ended], 0, now), "")
        self.assertEqual(line.left([done], 0, line.started + 1), "")

    def test_what_fails_is_told_with_its_last_lines_and_the_command(self):
        step = build.Step("C++", ["sh", "-c", "echo early; echo FAILED: x.o; echo the reason; exit 3"])
        with self.assertRaises(build.Failure) as caught:
            build.run(build.Line(), [step])
        told = str(caught.exception)
        self.assertIn("  | the reason", told)
        self.assertNotIn("  | early", told)
        self.assertIn("again: sh -c 'echo early;", told)
        self.assertEqual((self.folder / "C++.log").read_text().splitlines()[-1], "the reason")

    def test_a_failure_ends_what_runs_beside_it(self):
        mark = self.folder / "pid"
        beside = build.Step("beside", ["sh", "-c", f"echo $$ >{mark}; while :; do sleep 1; done"])
        failing = build.Step("failing", ["sh", "-c", f"while [ ! -s {mark} ]; do sleep 0.01; done; exit 1"])
        with self.assertRaises(build.Failure):
            build.run(build.Line(), [beside, failing])
        self.assertIsNotNone(beside.process.returncode)
        with self.assertRaises(ProcessLookupError):
            os.kill(int(mark.read_text()), 0)

    def commands_of(self, goal):
        """What a build of `goal` calls, in a tree of programs that only say how they were called."""
        calls = self.folder / "calls"
        for name in ("bin/cmake", "scripts/fetch", "scripts/userland", "build/bin/cloche"):
            program = self.folder / name
            program.parent.mkdir(parents=True, exist_ok=True)
            program.write_text(f'#!/bin/sh\necho "{name}" "$@" >>{calls}\n')
            program.chmod(0o755)
        (self.folder / "bin" / "cmake").write_text(f"""#!/bin/sh
case $1 in --preset) : >"$4/build.ninja" ;; esac
echo cmake "$@" >>{calls}
""")
        with mock.patch.dict(os.environ, {"PATH": f"{self.folder}/bin:{os.environ['PATH']}", "JOBS": "2"}):
            build.build(goal)
        said = calls.read_text().replace(f"{self.folder}/", "").splitlines()
        calls.unlink()
        return said

    def test_what_a_demonstration_takes_has_no_tests(self):
        said = self.commands_of("run")
        self.assertEqual(said[:2], ["scripts/fetch --paths", "cmake --preset dev -B build"])
        self.assertEqual(sorted(said[2:4]), ["cmake --build build -j 2 --target cloche",
                                             "scripts/userland build/rootfs build/guests/sysroot.id -j 2"])
        self.assertEqual(said[4:], ["build/bin/cloche prepare"])
        self.assertNotIn("cmake --preset dev -B build", self.commands_of("run"))

    def test_tests_come_with_all_that_they_take(self):
        said = self.commands_of("test")
        self.assertEqual(sorted(said[2:4]), ["cmake --build build -j 2 --target all",
                                             "scripts/userland build/rootfs build/guests/sysroot.id -j 2 --cxx"])
        self.assertEqual(said[4:], ["cmake --build build -j 2 --target guests", "build/bin/cloche prepare"])

    def test_steps_that_end_well_are_whole(self):
        step = build.Step("fine", ["true"])
        build.run(build.Line(), [step])
        self.assertEqual((step.share, step.weight, step.words()), (1.0, 0, "fine"))


if __name__ == "__main__":
    unittest.main()
