# SPDX-License-Identifier: Apache-2.0
"""Manual pages and completion say what the program's help says."""
import re
import shutil
import subprocess
import unittest

from installed import Installed


class ManualTest(Installed):
    def help_of(self, *words: str) -> str:
        return self.must(self.prefix / "bin/cloche", *words)

    def complete(self, *words: str) -> list[str]:
        """What bash offers at the end of a line."""
        script = ('. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); compopt() { :; }; _cloche; '
                  'printf "%s\\n" "${COMPREPLY[@]}"')
        completion = self.prefix / "share/bash-completion/completions/cloche"
        return self.must("bash", "-c", script, "bash", completion, "cloche", *words).split()

    def test_each_command_has_a_page_and_is_completed(self) -> None:
        commands = set(re.findall(r"^  cloche ([a-z]+)", self.help_of("--help").split("\n\n")[1], re.M))
        self.assertIn("run", commands)
        pages = {path.name for path in (self.prefix / "share/man/man1").iterdir()}
        self.assertEqual(pages, {"cloche.1", *(f"cloche-{name}.1" for name in commands - {"help"})})
        self.assertEqual(set(self.complete("")) - {"--help", "--version"}, commands)

    def test_each_option_is_in_the_page_and_both_completions(self) -> None:
        zsh = (self.prefix / "share/zsh/site-functions/_cloche").read_text()
        for command in ("run", "serve", "image"):
            options = set(re.findall(r"^  (--[a-z][\w-]*)", self.help_of(command, "--help"), re.M))
            page = (self.prefix / f"share/man/man1/cloche-{command}.1").read_text().replace("\\-", "-")
            offered = self.complete(command, "--")
            for option in options:
                self.assertIn(f".B {option}", page)
                # What it means is not part of its name.
                self.assertNotRegex(page, rf"(?m)^\.B {option} \S+ [a-z]")
                self.assertIn(option, offered)
                self.assertIn(f"{option}[", zsh)

    def test_completion_offers_values(self) -> None:
        self.assertEqual(self.complete("serve", "--api", ""), ["sessions", "steps"])
        self.assertEqual(self.complete("run", "--mount", "/et"), ["/etc"])
        self.assertNotIn("--stdin", self.complete("shell", "--st"))  # shell has all of run's options but this one
        self.assertIn("--packages", self.complete("shell", "--pa"))

    def test_the_shells_and_man_take_them(self) -> None:
        if shutil.which("zsh"):
            self.must("zsh", "-n", self.prefix / "share/zsh/site-functions/_cloche")
        if shutil.which("groff"):
            for page in (self.prefix / "share/man/man1").iterdir():
                done = subprocess.run(["groff", "-man", "-ww", "-z", page], capture_output=True, text=True, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, ""), page)


if __name__ == "__main__":
    unittest.main()
