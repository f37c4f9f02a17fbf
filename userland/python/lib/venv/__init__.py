"""Virtual environments: a folder with a link to the interpreter, a site-packages of its own, pip and scripts to activate it."""
import argparse
import os
import shutil
import sys

_ACTIVATE = """# This file must be used with "source bin/activate" *from bash*: it cannot be run directly.
deactivate () {{
    if [ -n "${{_OLD_VIRTUAL_PATH:-}}" ] ; then PATH="${{_OLD_VIRTUAL_PATH}}"; export PATH; unset _OLD_VIRTUAL_PATH; fi
    if [ -n "${{_OLD_VIRTUAL_PS1:-}}" ] ; then PS1="${{_OLD_VIRTUAL_PS1}}"; export PS1; unset _OLD_VIRTUAL_PS1; fi
    hash -r 2> /dev/null
    unset VIRTUAL_ENV VIRTUAL_ENV_PROMPT
    if [ ! "${{1:-}}" = "nondestructive" ] ; then unset -f deactivate; fi
}}
deactivate nondestructive
VIRTUAL_ENV={folder}
export VIRTUAL_ENV
_OLD_VIRTUAL_PATH="$PATH"
PATH="$VIRTUAL_ENV/bin:$PATH"
export PATH
VIRTUAL_ENV_PROMPT={prompt}
export VIRTUAL_ENV_PROMPT
if [ -z "${{VIRTUAL_ENV_DISABLE_PROMPT:-}}" ] ; then _OLD_VIRTUAL_PS1="${{PS1:-}}"; PS1="("{prompt}") ${{PS1:-}}"; export PS1; fi
hash -r 2> /dev/null
"""


class EnvBuilder:
    """Makes environments; what the platform has no part of (copies, upgrades of pip) is accepted."""

    def __init__(self, system_site_packages=False, clear=False, symlinks=True, upgrade=False, with_pip=False, prompt=None,
                 upgrade_deps=False, *, scm_ignore_files=frozenset()):
        self.system_site_packages, self.clear, self.with_pip, self.prompt = system_site_packages, clear, with_pip, prompt
        self.upgrade, self.scm_ignore_files = upgrade, scm_ignore_files

    def create(self, env_dir):
        import shlex
        folder = os.path.abspath(env_dir)
        if os.path.exists(folder) and self.clear:
            shutil.rmtree(folder)
        programs = os.path.join(folder, "bin")
        for path in (programs, os.path.join(folder, "include"), os.path.join(folder, "lib/python3.15/site-packages")):
            os.makedirs(path, exist_ok=True)
        prompt = self.prompt if self.prompt is not None else os.path.basename(folder)
        self._write(folder, "pyvenv.cfg", "home = /usr/bin\n"
                    f"include-system-site-packages = {str(self.system_site_packages).lower()}\n"
                    f"version = {sys.version.split()[0]}\nexecutable = /usr/bin/python3\n"
                    + (f"prompt = {self.prompt!r}\n" if self.prompt is not None else ""))
        for name, target in (("python3", "/usr/bin/python3"), ("python", "python3"), ("python3.15", "python3")):
            link = os.path.join(programs, name)
            if not os.path.lexists(link):
                os.symlink(target, link)
        self._write(programs, "activate", _ACTIVATE.format(folder=shlex.quote(folder), prompt=shlex.quote(prompt)))
        if "git" in self.scm_ignore_files:
            self._write(folder, ".gitignore", "*\n")
        if self.with_pip:
            import ensurepip
            ensurepip.write_programs(programs)

    @staticmethod
    def _write(folder, name, text):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)


def create(env_dir, system_site_packages=False, clear=False, symlinks=False, with_pip=False, prompt=None, upgrade_deps=False,
           *, scm_ignore_files=frozenset()):
    EnvBuilder(system_site_packages, clear, symlinks, False, with_pip, prompt, upgrade_deps, scm_ignore_files=scm_ignore_files).create(env_dir)


def main(args=None):
    parser = argparse.ArgumentParser(prog="venv", description="Creates virtual Python environments in one or more target directories.",
                                     epilog="Once an environment has been created, you may wish to activate it, e.g. by sourcing an "
                                            "activate script in its bin directory.")
    parser.add_argument("dirs", metavar="ENV_DIR", nargs="+", help="A directory to create the environment in.")
    parser.add_argument("--system-site-packages", action="store_true", help="Give access to the system site-packages dir.")
    parser.add_argument("--symlinks", action="store_true")
    parser.add_argument("--copies", action="store_true")
    parser.add_argument("--clear", action="store_true", help="Delete the contents of the environment directory if it exists.")
    parser.add_argument("--upgrade", action="store_true")
    parser.add_argument("--without-pip", action="store_true", help="Skips installing pip.")
    parser.add_argument("--prompt", help="Provides an alternative prompt prefix for this environment.")
    parser.add_argument("--upgrade-deps", action="store_true")
    parser.add_argument("--without-scm-ignore-files", action="store_true")
    options = parser.parse_args(args)
    for folder in options.dirs:
        create(folder, options.system_site_packages, options.clear, with_pip=not options.without_pip, prompt=options.prompt,
               scm_ignore_files=() if options.without_scm_ignore_files else ("git",))
