"""venv, as programs extend it."""
import os
import subprocess
import sys
import tempfile
import venv

os.chdir(tempfile.mkdtemp())
here = os.getcwd()


def attempt(function, *arguments, **named):
    try:
        return function(*arguments, **named)
    except Exception as error:
        return f"{type(error).__name__}: {str(error).replace(here, '')}"


def settings(folder):
    with open(f"{folder}/pyvenv.cfg") as file:
        pairs = dict(line.rstrip("\n").split(" = ", 1) for line in file)
    return sorted(pairs), pairs["include-system-site-packages"], pairs.get("prompt"), pairs["command"].replace(here, "").partition(" ")[2]


class Builder(venv.EnvBuilder):
    def setup_scripts(self, context):
        super().setup_scripts(context)
        os.makedirs("scripts/common/deep", exist_ok=True)
        with open("scripts/common/deep/hello", "w") as file:
            file.write("#!/bin/sh\necho __VENV_NAME__ __VENV_PROMPT__ __VENV_BIN_NAME__\n")
        os.chmod("scripts/common/deep/hello", 0o755)
        self.install_scripts(context, "scripts")

    def post_setup(self, context):
        print("set up", context.env_name, context.prompt, os.path.relpath(context.env_dir), os.path.relpath(context.bin_path), context.bin_name,
              os.path.isfile(context.cfg_path), os.path.isdir(context.inc_path), os.path.exists(context.env_exec_cmd))


Builder(prompt="it's mine").create("one")
print(settings("one"))
print(subprocess.run(["sh", "one/bin/deep/hello"], capture_output=True, text=True).stdout)
print(subprocess.run(["bash", "-euc", "set +h; source one/bin/activate; echo $VIRTUAL_ENV_PROMPT; python -c 'import sys; print(sys.prefix == sys.argv[1])' $VIRTUAL_ENV; deactivate; echo ${VIRTUAL_ENV:-none}"],
                     capture_output=True, text=True).stdout)
open("one/mark", "w").close()
venv.create("one", system_site_packages=True, symlinks=True)
print(settings("one"), os.path.exists("one/mark"))
os.symlink("one", "link")
print(attempt(venv.create, "link"))
venv.EnvBuilder(clear=True, symlinks=True).create("one")
print(os.path.islink("link"), os.path.exists("one/mark"), os.path.exists("one/bin/deep"), settings("one"))
print(venv.EnvBuilder(prompt=".").prompt == os.path.basename(here))
print(attempt(venv.create, "a:b").partition(" a")[0], os.path.exists("a:b"))
open("file", "w").close()
print(attempt(venv.create, "file"))
print(attempt(venv.create, "two", scm_ignore_files={"git"}), os.path.exists("two/.gitignore"))
print(attempt(venv.create, "three", scm_ignore_files={"other"}))
