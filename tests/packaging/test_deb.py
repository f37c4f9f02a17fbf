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
        # Who keeps their files to themselves packages for everybody all the same.
        done = run(SOURCE / "packaging/deb/build.py", BUILD, cls.folder / "dist", umask=0o077,
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
                self.assertRegex(line, r"^(-r[w-][x-](r-[x-]){2}|-rw-r-----|drwxr-xr-x|lrwxrwxrwx) root/root ")
        tokens = next(line for line in run("dpkg-deb", "-c", self.packages["cloche"]).stdout.splitlines()
                      if line.endswith("/etc/cloche/tokens"))
        self.assertTrue(tokens.startswith("-rw-r-----"), tokens)

    def test_sums_are_those_of_the_files(self) -> None:
        control = self.control()
        done = run("md5sum", "--check", "--quiet", control / "md5sums", cwd=self.root)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        for script in ("postinst", "prerm", "postrm"):
            self.assertEqual(run("sh", "-n", control / script).returncode, 0)

    def configured(self, files: dict[str, str], *words: str) -> tuple[subprocess.CompletedProcess, list[str]]:
        """Runs postinst where /etc has these files and their owners. Programs that would change something write down what
        is asked of them, which is the second of what this gives."""
        with tempfile.TemporaryDirectory(prefix="cloche-postinst-") as folder:
            etc, fakes, log = (Path(folder) / name for name in ("etc", "fakes", "log"))
            fakes.mkdir()
            etc.mkdir()
            log.touch()
            for name in files:
                (etc / name).parent.mkdir(parents=True, exist_ok=True)
                (etc / name).write_text("")
            for name in ("systemd-sysusers", "chown", "chmod", "systemctl"):
                (fakes / name).write_text(f'#!/bin/sh\necho {name} "$@" >>{log}\n[ {name} != chown ] || [ -e "$2" ]\n')
                (fakes / name).chmod(0o755)
            owners = "".join(f"{name}) echo {owner};; " for name, owner in files.items())
            (fakes / "stat").write_text(f'#!/bin/sh\n[ -e "$3" ] || exit 1\ncase "${{3#/etc/}}" in {owners}*) echo root:root;; esac\n')
            (fakes / "stat").chmod(0o755)
            done = run("unshare", "--map-root-user", "--mount", "sh", "-c",
                       f'mount --bind {etc} /etc && PATH={fakes}:$PATH exec sh "$@"', "postinst",
                       self.control() / "postinst", "configure", *words)
            return done, log.read_text().splitlines()

    def control(self) -> Path:
        control = self.folder / "control"
        if not control.exists():
            subprocess.run(["dpkg-deb", "-e", self.packages["cloche"], control], check=True)
        return control

    @unittest.skipUnless(run("unshare", "--map-root-user", "--mount", "true").returncode == 0, "there are no user namespaces")
    def test_an_upgrade_leaves_what_an_administrator_has_made_of_the_tokens(self) -> None:
        done, asked = self.configured({"cloche/tokens": "root:root"})
        self.assertEqual(done.returncode, 0, done.stderr)
        for expected in (r"chown root:cloche .*/etc/cloche/tokens", r"chmod 640 /etc/cloche/tokens", r"chmod 750 /etc/cloche"):
            self.assertRegex("\n".join(asked), expected)
        for files in ({}, {"cloche/cert.pem": "root:root"}, {"cloche/tokens": "root:vault"}):
            done, asked = self.configured(files, "0.0.9")
            self.assertEqual(done.returncode, 0, f"{files}: {done.stderr}")
            self.assertFalse([line for line in asked if "tokens" in line], files)

    def test_the_program_of_the_package_runs(self) -> None:
        done = run(self.root / "usr/bin/cloche", "run", "echo hello")
        self.assertEqual((done.returncode, done.stdout), (0, "hello\n"), done.stderr)

    def test_the_unit_says_what_it_has_to(self) -> None:
        unit = (self.root / SERVICE).read_text()
        for line in ("User=cloche", "ProtectSystem=strict", "NoNewPrivileges=yes", "CapabilityBoundingSet=",
                     "StateDirectory=cloche cloche/sessions", "RestrictNamespaces=yes"):
            self.assertRegex(unit, rf"(?m)^{re.escape(line)}$")
        help_page = run(self.root / "usr/bin/cloche", "serve", "--help").stdout
        for option in re.findall(r"--[a-z-]+", re.search(r"(?m)^ExecStart=.*$", unit)[0]):
            self.assertIn(option, help_page)

    def test_what_cannot_start_is_not_started_for_ever(self) -> None:
        unit = (self.root / SERVICE).read_text()
        wrong = run(self.root / "usr/bin/cloche", "serve", "--no-such-option")
        self.assertRegex(unit, rf"(?m)^RestartPreventExitStatus={wrong.returncode}$")
        times = {name: float(value) for name, value in re.findall(r"(?m)^(StartLimit\w+|RestartSec)=(\d+)$", unit)}
        # What ends at once after each start comes to the limit within its interval.
        self.assertLess((times["RestartSec"] + 1) * times["StartLimitBurst"], times["StartLimitIntervalSec"])

    def calls_let_pass(self, *units: str) -> set[str]:
        """The system calls of the filters of these, with the groups of systemd's that they name."""
        words = [word for unit in units for line in re.findall(r"(?m)^SystemCallFilter=(.*)$", (self.root / unit).read_text())
                 for word in line.split()]
        calls = set()
        while words:
            word = words.pop()
            if not word.startswith("@"):
                calls.add(word)
                continue
            said = run("systemd-analyze", "syscall-filter", word)
            self.assertEqual(said.returncode, 0, said.stderr)
            words += [line.strip() for line in said.stdout.splitlines()[1:] if not line.strip().startswith("#")]
        return calls

    @unittest.skipUnless(shutil.which("systemd-analyze"), "there is no systemd-analyze")
    def test_the_unit_takes_nothing_away_that_the_server_is_held_by(self) -> None:
        walls = {"seccomp", "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"}
        self.assertLessEqual(walls | {"openat2", "userfaultfd", "pidfd_open", "mprotect"}, self.calls_let_pass(SERVICE))
        self.assertNotIn("mount", self.calls_let_pass(SERVICE))
        # For which systemd answers openat2, whose flags it cannot see, by ENOSYS.
        self.assertNotRegex((self.root / SERVICE).read_text(), r"(?m)^RestrictSUIDSGID=yes")

    @unittest.skipUnless(shutil.which("systemd-analyze"), "there is no systemd-analyze")
    def test_the_linux_engine_has_what_boxes_are_made_of(self) -> None:
        more = "usr/share/cloche/systemd/linux-engine.conf"
        for line in ("RestrictNamespaces=no", "ProtectHostname=no", "Delegate=yes", "ProtectControlGroups=no"):
            self.assertRegex((self.root / more).read_text(), rf"(?m)^{line}$")
        boxes = {"unshare", "setns", "mount", "umount2", "pivot_root", "sethostname", "ptrace", "pidfd_getfd", "seccomp"}
        self.assertLessEqual(boxes, self.calls_let_pass(SERVICE, more))

    def test_programs_that_are_linked_with_the_library_find_it(self) -> None:
        control = self.folder / "linked"
        subprocess.run(["dpkg-deb", "-e", self.packages["cloche"], control], check=True)
        self.assertIn("ldconfig", (control / "triggers").read_text())
        name = re.search(r"SONAME.*\[libcloche\.so\.([\d.]+)\]",
                         run("readelf", "-d", self.root / f"usr/lib/libcloche.so.{VERSION}").stdout)
        self.assertEqual((control / "shlibs").read_text(), f"libcloche {name[1]} cloche (>= {name[1]})\n")

    def test_there_is_nothing_to_strip(self) -> None:
        programs = [path for folder in ("bin", "lib/cloche") for path in (self.root / "usr" / folder).iterdir()
                    if path.is_file() and not path.is_symlink() and run("readelf", "-h", path).returncode == 0]
        self.assertLessEqual({"cloche", "cloche-compile", "cloche-warden", "cloche-unpack", "cloche-pull", "libwasmtime.so"},
                             {path.name for path in programs})
        for path in programs:
            sections = run("readelf", "-SW", path).stdout
            self.assertFalse({".debug_info", ".symtab"} & set(sections.split()), path.name)

    def test_the_documents_that_the_help_names_are_there(self) -> None:
        help_pages = run(self.root / "usr/bin/cloche", "run", "--help").stdout
        named = set(re.findall(r"docs/[\w-]+\.md", help_pages))
        self.assertIn("docs/engines.md", named)
        for name in named:
            self.assertTrue((self.root / "usr/share/doc/cloche" / name).exists(), name)
        self.assertTrue((self.root / "usr/share/man/man1/sbs.1.gz").exists())

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
