"""Virtual environments: a folder with a link to the interpreter, a site-packages of its own, pip and scripts to activate it."""
import argparse
import os
import shlex
import shutil
import subprocess
import sys
import types

CORE_VENV_DEPS = ("pip",)

_ACTIVATE = """# This file must be used with "source bin/activate" *from bash*: it cannot be run directly.
deactivate () {{
    if [ -n "${{_OLD_VIRTUAL_PATH:-}}" ] ; then PATH="${{_OLD_VIRTUAL_PATH}}"; export PATH; unset _OLD_VIRTUAL_PATH; fi
    if [ -n "${{_OLD_VIRTUAL_PS1:-}}" ] ; then PS1="${{_OLD_VIRTUAL_PS1}}"; export PS1; unset _OLD_VIRTUAL_PS1; fi
    hash -r 2> /dev/null || true
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
hash -r 2> /dev/null || true
"""


_NAMES = ("python3", "python", "python3.15")


class EnvBuilder:
    """Makes environments by the library's own steps, which subclasses extend. The interpreter is always a link, and pip never older."""

    def __init__(self, system_site_packages=False, clear=False, symlinks=False, upgrade=False, with_pip=False, prompt=None,
                 upgrade_deps=False, *, scm_ignore_files=frozenset()):
        self.system_site_packages, self.clear, self.symlinks, self.upgrade = system_site_packages, clear, symlinks, upgrade
        self.with_pip, self.upgrade_deps, self.orig_prompt = with_pip, upgrade_deps, prompt
        self.prompt = os.path.basename(os.getcwd()) if prompt == "." else prompt
        self.scm_ignore_files = frozenset(map(str.lower, scm_ignore_files))

    def create(self, env_dir):
        context = self.ensure_directories(os.path.abspath(env_dir))
        for system in self.scm_ignore_files:
            getattr(self, f"create_{system}_ignore_file")(context)
        self.create_configuration(context)
        self.setup_python(context)
        if self.with_pip:
            self._setup_pip(context)
        if not self.upgrade:
            self.setup_scripts(context)
            self.post_setup(context)
        if self.upgrade_deps:
            self.upgrade_dependencies(context)

    def clear_directory(self, path):
        for entry in os.scandir(path):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
            else:
                os.remove(entry.path)

    def ensure_directories(self, env_dir):
        """Makes the environment's folders; what the other steps are told."""
        if os.pathsep in os.fspath(env_dir):
            raise ValueError(f"Refusing to create a venv in {env_dir} because it contains the PATH separator {os.pathsep}.")
        if os.path.exists(env_dir) and self.clear:
            self.clear_directory(env_dir)
        name = os.path.split(env_dir)[1]
        programs = os.path.join(env_dir, "bin")
        context = types.SimpleNamespace(
            env_dir=env_dir, env_name=name, prompt=name if self.prompt is None else self.prompt, executable="/usr/bin/python3",
            python_dir="/usr/bin", python_exe="python3", inc_path=os.path.join(env_dir, "include"), bin_name="bin", bin_path=programs,
            lib_path=os.path.join(env_dir, "lib/python3.15/site-packages"), env_exe=os.path.join(programs, "python3"),
            env_exec_cmd=os.path.join(programs, "python3"))
        for path in (env_dir, context.inc_path, context.lib_path, programs):
            if os.path.islink(path) or os.path.isfile(path):
                raise ValueError(f"Unable to create directory {path!r}")
            os.makedirs(path, exist_ok=True)
        return context

    def create_configuration(self, context):
        context.cfg_path = os.path.join(context.env_dir, "pyvenv.cfg")
        words = [word for word, said in (
            ("--copies", not self.symlinks), ("--without-pip", not self.with_pip),
            ("--system-site-packages", self.system_site_packages), ("--clear", self.clear), ("--upgrade", self.upgrade),
            ("--upgrade-deps", self.upgrade_deps), (f'--prompt="{self.orig_prompt}"', self.orig_prompt is not None),
            ("--without-scm-ignore-files", not self.scm_ignore_files)) if said]
        with open(context.cfg_path, "w", encoding="utf-8") as file:
            file.write(f"home = {context.python_dir}\ninclude-system-site-packages = {str(self.system_site_packages).lower()}\n"
                       f"version = {sys.version.split()[0]}\n")
            if self.prompt is not None:
                file.write(f"prompt = {self.prompt!r}\n")
            file.write(f"executable = {context.executable}\ncommand = {sys.executable} -m venv {' '.join(words)} {context.env_dir}\n")

    def create_git_ignore_file(self, context):
        with open(os.path.join(context.env_dir, ".gitignore"), "w", encoding="utf-8") as file:
            file.write("# Created by venv; see https://docs.python.org/3/library/venv.html\n*\n")

    def setup_python(self, context):
        for name in _NAMES:
            link = os.path.join(context.bin_path, name)
            if not os.path.lexists(link):
                os.symlink(context.executable if name == "python3" else "python3", link)

    def _setup_pip(self, context):
        import ensurepip
        ensurepip.write_programs(context.bin_path)

    def setup_scripts(self, context):
        with open(os.path.join(context.bin_path, "activate"), "w", encoding="utf-8") as file:
            file.write(_ACTIVATE.format(folder=shlex.quote(context.env_dir), prompt=shlex.quote(context.prompt)))

    def post_setup(self, context):
        """For subclasses."""

    def replace_variables(self, text, context):
        """What the placeholders of a script stand for."""
        for name, value in (("__VENV_DIR__", context.env_dir), ("__VENV_NAME__", context.env_name), ("__VENV_PROMPT__", context.prompt),
                            ("__VENV_BIN_NAME__", context.bin_name), ("__VENV_PYTHON__", context.env_exe)):
            text = text.replace(name, shlex.quote(value))
        return text

    def install_scripts(self, context, path):
        """Copies a subclass's scripts, those below `common` and `posix` of this folder, with their placeholders filled."""
        for folder in ("common", "posix"):
            for root, _, names in os.walk(os.path.join(path, folder)):
                to = os.path.normpath(os.path.join(context.bin_path, os.path.relpath(root, os.path.join(path, folder))))
                os.makedirs(to, exist_ok=True)
                for name in names:
                    source, target = os.path.join(root, name), os.path.join(to, name)
                    with open(source, "rb") as file:
                        content = file.read()
                    try:
                        content = self.replace_variables(content.decode(), context).encode()
                    except UnicodeDecodeError:
                        pass  # no text
                    with open(target, "wb") as file:
                        file.write(content)
                    shutil.copymode(source, target)

    def upgrade_dependencies(self, context):
        subprocess.check_output([context.env_exec_cmd, "-m", "pip", "install", "--upgrade", *CORE_VENV_DEPS])


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
        EnvBuilder(options.system_site_packages, options.clear, not options.copies, options.upgrade, not options.without_pip, options.prompt,
                   options.upgrade_deps, scm_ignore_files=() if options.without_scm_ignore_files else ("git",)).create(folder)
