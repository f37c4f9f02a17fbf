# SPDX-License-Identifier: Apache-2.0
"""The list of packages is whole: each program that scripts, Makefile, CMake files and the guests' build call belongs to a package of
scripts/packages.txt or packages-tests.txt, to one that such a package depends on, or to Debian's essential set. What the upstream build of a port calls by
itself is not seen here; a fresh machine sees it.

    packages_test.py SOURCE
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

import commands

SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()

# README: what is there before the first `make run`.
GIVEN = {"git", "make"}
# Called where they are and done without where not: setup explains, the component's test is left out, an own lock is the fallback.
OPTIONAL = {"sudo", "rustc", "rustup", "ccache"}
# Of words that are no part of `make run` and `make test`, with lists of their own: packages-cluster.txt, packages-gvisor.txt.
ELSEWHERE = {"go"}


def tracked(*patterns):
    listed = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", "-co", "--exclude-standard", "--", *patterns], cwd=SOURCE,
                            capture_output=True, text=True, check=True)
    return [SOURCE / name for name in listed.stdout.split("\n") if name]


def calls():
    """{program: a file that calls it}"""
    found = {}

    def add(path, names):
        for name in names:
            found.setdefault(name, path.relative_to(SOURCE))

    for path in tracked("scripts", ".ci", "userland/cc", "userland/cxx", "userland/libraries/*.sh", "userland/ports/*.sh", "userland/build", "userland/python",
                        "packaging"):
        if not path.is_file() or path.is_relative_to(SOURCE / "packaging" / "deb"):  # those run where the package is installed
            continue
        text = path.read_text(errors="replace")
        first = text.split("\n", 1)[0]
        if path.suffix == ".py" or re.match(r"#!.*python", first):
            add(path, commands.of_python(text))
        elif path.suffix == ".sh" or re.match(r"#!.*\b(sh|bash)\b", first):
            add(path, commands.of_shell(text))
    for path in tracked("Makefile"):
        add(path, commands.of_makefile(path.read_text()))
    for path in tracked("*.cmake", "CMakeLists.txt", "*/CMakeLists.txt"):
        add(path, commands.of_cmake(path.read_text()))
    return found


def listed():
    """The packages, and the commands in whose place a package is not needed."""
    packages, instead = set(), set()
    lists = [(SOURCE / "scripts" / name).read_text() for name in ("packages.txt", "packages-tests.txt")]
    for line in "\n".join(lists).splitlines():
        words = line.split("#")[0].split()
        if words:
            packages.add(words[0])
            instead |= {words[2]} if words[1:2] == ["|"] else set()
    return packages, instead


def installed():
    """{package: (essential, [what it depends on, alternatives in order])}, provided names too."""
    shown = subprocess.run(["dpkg-query", "-W", "-f", "${Package}\t${Essential}\t${Pre-Depends}, ${Depends}\t${Provides}\n"],
                           capture_output=True, text=True, check=True)
    known = {}
    for line in shown.stdout.splitlines():
        name, essential, depends, provides = line.split("\t")
        wanted = [[re.sub(r"[ :(].*", "", one.strip()) for one in group.split("|")] for group in depends.split(",") if group.strip()]
        known[name] = (essential == "yes", wanted)
        for provided in filter(None, (re.sub(r"[ (].*", "", p.strip()) for p in provides.split(","))):
            known.setdefault(provided, (False, [[name]]))
    return known


def reached(roots, known):
    """The packages that come with `roots`: of alternatives the first that is there, as apt takes them."""
    todo, seen = list(roots), set()
    while todo:
        name = todo.pop()
        if name in seen or name not in known:
            continue
        seen.add(name)
        for group in known[name][1]:
            todo += [one for one in group if one in known][:1]
    return seen


def paths_of(program):
    """Where the program may lie, and what it is a link to; with and without /usr, for packages name either."""
    for folder in ("/usr/bin", "/usr/sbin", "/bin", "/sbin"):
        path = os.path.join(folder, program)
        while os.path.lexists(path):
            yield path
            yield path.removeprefix("/usr") if path.startswith("/usr/") else "/usr" + path
            if not os.path.islink(path):
                break
            path = os.path.normpath(os.path.join(os.path.dirname(path), os.readlink(path)))


def owners(programs):
    """{program: the Debian package that has it}; without those that no installed package has."""
    places = {program: list(paths_of(program)) for program in programs}
    said = subprocess.run(["dpkg-query", "-S", *sorted({path for paths in places.values() for path in paths})],
                          capture_output=True, text=True, check=False).stdout
    package_of = {}
    for line in said.splitlines():
        names, _, path = line.rpartition(": ")
        if not line.startswith("diversion"):
            package_of[path] = names.split(",")[0].split(":")[0]
    return {program: package_of[path] for program, paths in places.items() for path in reversed(paths) if path in package_of}


class Packages(unittest.TestCase):
    def test_reads_what_a_shell_script_calls(self):
        script = """#!/bin/sh
        # comment: not a call
        X=1 first -a "$(second | third 'fourth')" && fifth || { sixth; }
        f() { seventh; }
        f >eighth <<EOF
        ninth $x
        EOF
        case $y in ten | eleven) twelfth ;; *) env A=b nice -n 5 thirteenth; esac
        for i in a b; do "$i" fourteenth; done; exec fifteenth `sixteenth`; ./local; $CC x
        """
        script = script.replace("        EOF\n        case", "EOF\n        case")
        self.assertEqual(commands.of_shell(script), {
            "first", "second", "third", "fifth", "sixth", "seventh", "twelfth", "env", "nice", "thirteenth", "exec", "fifteenth",
            "sixteenth"} - commands.BUILTIN)

    def test_reads_what_other_files_call(self):
        self.assertEqual(commands.of_makefile("v = a && b\nall:\n\t@one $(if $(x),-y) | two \\\n\t&& three\n"), {"a", "b", "one", "two", "three"})
        self.assertEqual(commands.of_cmake("find_program(X NAMES one two)\nadd_test(NAME n COMMAND three x)\n# COMMAND four"),
                         {"one", "two", "three"})
        self.assertEqual(commands.of_python("run(['one', 'x'])\nshutil.which('two')\nprint('three')"), {"one", "two"})

    @unittest.skipUnless(shutil.which("dpkg-query"), "not a Debian system")
    def test_each_program_belongs_to_a_package_of_the_list(self):
        found = calls()
        for name in ("cmake", "tic", "brotli", "patch", "sed", "apt-get", "ctest"):
            self.assertIn(name, found, "the reader of scripts has missed it")
        packages, instead = listed()
        known = installed()
        whole = reached(packages | GIVEN | {name for name, (essential, _) in known.items() if essential} | {"apt", "dpkg"}, known)
        package_of = owners(found)
        wrong = []
        for program, path in sorted(found.items()):
            if program in instead | OPTIONAL | ELSEWHERE:
                continue
            package = package_of.get(program)
            if package not in whole:
                wrong.append(f"{path} calls {program}, which " +
                             (f"{package} has: no package of scripts/packages.txt brings it" if package else "no installed package has"))
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
