# SPDX-License-Identifier: Apache-2.0
"""`make install`: the tree is whole, may be moved, and is enough to run the program and to build others."""
import os
import unittest

from installed import SOURCE, VERSION, Installed, clean_environment

EMBED_SAYS = ("lines: 3\nfork has:\napple\nfig\npear\nzebra\noriginal has:\napple\nfig\npear\n"
              "a loop without end: exit code 124, ")


class InstallTest(Installed):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        # What the example runs is compiled once, which may take longer than the example gives it.
        cls.must(cls(), cls.prefix / "bin/cloche", "run", "--timeout", "0", "echo b | tee a | sort | wc -l >/dev/null")

    def test_nothing_is_written_beside_the_prefix(self) -> None:
        self.assertEqual([str(p) for p in self.stage.rglob("*") if not p.is_dir()], [])

    def test_the_program_runs_from_where_it_lies(self) -> None:
        program = self.prefix / "bin/cloche"
        self.assertEqual(self.must(program, "--version"), f"cloche {VERSION}\n")
        self.assertEqual(self.must(program, "run", "echo hello | tr a-z A-Z"), "HELLO\n")
        self.assertIn("bash", self.must(program, "licenses"))

    def test_it_runs_where_it_can_write_nowhere(self) -> None:
        environment = {"PATH": "/usr/bin:/bin", "HOME": "/dev/null/nowhere", "CLOCHE_ROOTFS": ""}
        done = self.must(self.prefix / "bin/cloche", "run", "echo hello", env=environment)
        self.assertEqual(done, "hello\n")

    def test_find_package_builds_the_example_against_both_libraries(self) -> None:
        build = self.folder / "embed"
        self.must("cmake", "-S", SOURCE / "tests/packaging/embed", "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}",
                  f"-DEXAMPLES={SOURCE / 'examples'}")
        self.must("cmake", "--build", build)
        shared = self.must(build / "embed_cloche", cwd="/")
        self.assertTrue(shared.startswith(EMBED_SAYS), shared)
        # An archive does not know where it was installed.
        environment = clean_environment(CLOCHE_ROOTFS=str(self.prefix / "lib/cloche/rootfs"))
        static = self.must(build / "embed_cloche_static", cwd="/", env=environment)
        self.assertTrue(static.startswith(EMBED_SAYS), static)

    def test_find_package_refuses_what_it_is_not(self) -> None:
        project = self.folder / "other"
        project.mkdir()
        for wanted, said in (("find_package(cloche 99.0 REQUIRED)", "99.0"),
                             ("find_package(cloche REQUIRED COMPONENTS nonsense)", "no component nonsense")):
            (project / "CMakeLists.txt").write_text(
                f"cmake_minimum_required(VERSION 3.16)\nproject(other LANGUAGES CXX)\n{wanted}\n")
            with self.assertRaisesRegex(AssertionError, said):
                self.must("cmake", "-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={self.prefix}")

    def test_pkg_config_builds_the_example(self) -> None:
        environment = clean_environment(PKG_CONFIG_PATH=str(self.prefix / "lib/pkgconfig"))
        flags = self.must("pkg-config", "--cflags", "--libs", "cloche", env=environment).split()
        self.assertEqual(self.must("pkg-config", "--modversion", "cloche", env=environment).strip(), VERSION)
        program = self.folder / "embed_pkg_config"
        compiler = os.environ.get("CXX", "c++")
        self.must(compiler, "-std=c++20", SOURCE / "examples/embed.cc", "-o", program, *flags)
        libraries = clean_environment(LD_LIBRARY_PATH=str(self.prefix / "lib"))
        said = self.must(program, cwd="/", env=libraries)
        self.assertTrue(said.startswith(EMBED_SAYS), said)

    def test_the_shared_library_shows_its_interface_alone(self) -> None:
        shown = self.must("nm", "-DC", "--defined-only", self.prefix / "lib/libcloche.so")
        inner = [line for line in shown.splitlines()
                 if any(f" cloche::{layer}::" in line for layer in
                        ("wasm", "vfs", "kernel", "net", "python", "packages", "sandbox"))]
        self.assertEqual(inner, [])
        self.assertIn("cloche::Engine::create(", shown)

    def test_no_path_of_the_build_is_in_it(self) -> None:
        for path in (self.prefix / "bin/cloche", self.prefix / "lib/libcloche.so",
                     *(self.prefix / "lib/cmake/cloche").iterdir(), self.prefix / "lib/pkgconfig/cloche.pc"):
            self.assertNotIn(os.fsencode(SOURCE), path.read_bytes(), path)


if __name__ == "__main__":
    unittest.main()
