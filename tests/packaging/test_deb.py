# SPDX-License-Identifier: Apache-2.0
"""`make deb`: the packages are whole, and the service's unit is one that systemd takes, and hardened."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from installed import BUILD, SOURCE, VERSION, run

SERVICE = "usr/lib/systemd/system/cloche.service"


@unittest.skipUnless(shutil.which("dpkg-deb") and shutil.which("dpkg-shlibdeps"), "Debian's packages want dpkg-dev")
class DebTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory(prefix="cloche-deb-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        done = run(SOURCE / "packaging/deb/build.py", BUILD, cls.folder / "dist",
                   env={**os.environ, "CLOCHE_CODE": "none", "CLOCHE_DEB_COMPRESSION": "none"})
        if done.returncode:
            raise AssertionError(done.stdout + done.stderr)
        cls.packages = {path.name.partition("_")[0]: path for path in (cls.folder / "dist").glob("*.deb")}
        cls.root = cls.folder / "root"
        for path in cls.packages.values():
            subprocess.run(["dpkg-deb", "-x", path, cls.root], check=True)

    def field(self, package: str, name: str) -> str:
        return run("dpkg-deb", "-f", self.packages[package], name).stdout.strip()

    def test_there_are_two_and_they_fit_together(self) -> None:
        self.assertEqual(sorted(self.packages), ["cloche", "libcloche-dev"])
        for package in self.packages:
            self.assertEqual(self.field(package, "Version"), VERSION)
        self.assertIn(f"cloche (= {VERSION})", self.field("libcloche-dev", "Depends"))
        for library in ("libc6", "libssl3", "libssh-4", "libnghttp2-14", "libfmt9", "libstdc++6", "libarchive13", "libcurl4"):
            self.assertIn(library, self.field("cloche", "Depends"))

    def test_all_files_belong_to_root_and_none_has_set_id(self) -> None:
        for path in self.packages.values():
            for line in run("dpkg-deb", "-c", path).stdout.splitlines():
                self.assertRegex(line, r"^[-dl]([r-][w-][x-]){3} root/root ")
        tokens = next(line for line in run("dpkg-deb", "-c", self.packages["cloche"]).stdout.splitlines()
                      if line.endswith("/etc/cloche/tokens"))
        self.assertTrue(tokens.startswith("-rw-r-----"), tokens)

    def test_sums_are_those_of_the_files(self) -> None:
        control = self.folder / "control"
        subprocess.run(["dpkg-deb", "-e", self.packages["cloche"], control], check=True)
        done = run("md5sum", "--check", "--quiet", control / "md5sums", cwd=self.root)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        for script in ("postinst", "prerm", "postrm"):
            self.assertEqual(run("sh", "-n", control / script).returncode, 0)

    def test_the_program_of_the_package_runs(self) -> None:
        done = run(self.root / "usr/bin/cloche", "run", "echo hello")
        self.assertEqual((done.returncode, done.stdout), (0, "hello\n"), done.stderr)

    def test_the_unit_says_what_it_has_to(self) -> None:
        unit = (self.root / SERVICE).read_text()
        for line in ("User=cloche", "ProtectSystem=strict", "NoNewPrivileges=yes", "CapabilityBoundingSet=",
                     "StateDirectory=cloche cloche/sessions", "SystemCallFilter=@system-service"):
            self.assertRegex(unit, rf"(?m)^{re.escape(line)}$")
        help_page = run(self.root / "usr/bin/cloche", "serve", "--help").stdout
        for option in re.findall(r"--[a-z-]+", re.search(r"(?m)^ExecStart=.*$", unit)[0]):
            self.assertIn(option, help_page)

    @unittest.skipUnless(shutil.which("systemd-analyze"), "there is no systemd-analyze")
    def test_systemd_takes_the_unit(self) -> None:
        # Of the unit's surroundings, what the check wants to find.
        (self.root / "bin").mkdir()
        shutil.copy("/bin/kill", self.root / "bin/kill")
        for name in ("network-online.target", "multi-user.target", "sysinit.target", "basic.target", "shutdown.target"):
            (self.root / "usr/lib/systemd/system" / name).write_text("[Unit]\nDescription=a part of the test\n")
        done = run("systemd-analyze", "verify", f"--root={self.root}", "--man=no", "cloche.service")
        said = [line for line in (done.stdout + done.stderr).splitlines() if "cloche" in line]
        self.assertEqual((done.returncode, said), (0, []), done.stderr)
        score = run("systemd-analyze", "security", "--offline=yes", f"--root={self.root}", "cloche.service")
        exposure = re.search(r"Overall exposure level for cloche.service: ([\d.]+)", score.stdout)
        self.assertLess(float(exposure[1]), 2.0, score.stdout)


if __name__ == "__main__":
    unittest.main()
