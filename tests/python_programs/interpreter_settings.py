"""What the environment and the options of the command line say of an interpreter."""
import os
import subprocess
import sys
import tempfile
import zipfile

os.chdir(tempfile.mkdtemp())
for name in [name for name in os.environ if name.startswith("PYTHON")]:
    del os.environ[name]


def python(*words, **environment):
    ended = subprocess.run([sys.executable, *words], capture_output=True, text=True, env={**os.environ, **environment})
    print(ended.returncode, ended.stdout.split("\n")[:-1], ended.stderr.strip().rpartition("\n")[2])


# -c may be indented.
python("-c", "\n    for i in range(2):\n        print(i)\n")
python("-c", "\tif True:\n\t\tprint('''a\n\t\tb''')")
python("-c", "  x = 1\nprint(x)")

# What is imported has no assertions either.
with open("claims.py", "w") as file:
    file.write('"""Text."""\nassert not __debug__\nprint(__debug__, __doc__)\n')
python("-c", "import claims")
python("-O", "-c", "import claims")
python("-OO", "-m", "claims")
python("-c", "import claims", PYTHONOPTIMIZE="1")
python("-E", "-c", "import claims", PYTHONOPTIMIZE="1")

flags = "import sys; print(*(int(getattr(sys.flags, name)) for name in 'debug optimize verbose dont_write_bytecode inspect'.split()))"
python("-c", flags, PYTHONDEBUG="2", PYTHONOPTIMIZE="2", PYTHONDONTWRITEBYTECODE="yes", PYTHONVERBOSE="")
python("-O", "-c", flags, PYTHONOPTIMIZE="text")

# Development mode, and the order of warnings.
mode = "import sys, warnings; print(sys.flags.dev_mode, sys.warnoptions); warnings.warn('seen', ResourceWarning)"
python("-c", mode)
python("-X", "dev", "-W", "ignore::UserWarning", "-c", mode)
python("-b", "-c", mode, PYTHONDEVMODE="1", PYTHONWARNINGS="error::FutureWarning")

# Limits and numbers, right and wrong.
digits = "import sys; print(sys.get_int_max_str_digits(), sys.flags.int_max_str_digits)"
python("-c", digits)
python("-X", "int_max_str_digits=700", "-c", digits, PYTHONINTMAXSTRDIGITS="800")
python("-c", digits, PYTHONINTMAXSTRDIGITS="0")
print(subprocess.run([sys.executable, "-X", "int_max_str_digits=3", "-c", digits], capture_output=True).returncode)
count = "import os; print(os.cpu_count(), os.process_cpu_count())"
python("-X", "cpu_count=7", "-c", count)
python("-c", count, PYTHON_CPU_COUNT="5")
print(subprocess.run([sys.executable, "-X", "cpu_count=0", "-c", count], capture_output=True).returncode)
traced = "import tracemalloc; print(tracemalloc.is_tracing(), tracemalloc.get_traceback_limit())"
python("-c", traced)
python("-X", "tracemalloc", "-c", traced)
python("-c", traced, PYTHONTRACEMALLOC="12")
print(subprocess.run([sys.executable, "-X", "tracemalloc=-1", "-c", traced], capture_output=True).returncode)
python("-c", "import sys; print(sys.pycache_prefix)", PYTHONPYCACHEPREFIX="/tmp/cache")
python("-X", "pycache_prefix=here", "-c", "import sys; print(sys.pycache_prefix)")
python("-X", "faulthandler", "-c", "import faulthandler; print(faulthandler.is_enabled())")

# The user's packages lie where PYTHONUSERBASE says.
version = "python%d.%d" % sys.version_info[:2]
os.makedirs(f"base/lib/{version}/site-packages")
with open(f"base/lib/{version}/site-packages/mine.py", "w") as file:
    file.write("print('mine')")
base = os.path.abspath("base")
python("-c", f"import site, mine; print(site.USER_BASE == {base!r}, site.USER_SITE.startswith({base!r}), site.ENABLE_USER_SITE)", PYTHONUSERBASE=base)
python("-s", "-c", "import mine", PYTHONUSERBASE=base)

# What customizes an interpreter is looked for on its path, and not beside the program.
os.mkdir("custom")
for folder in (".", "custom"):
    with open(f"{folder}/sitecustomize.py", "w") as file:
        file.write(f"import sys; print('site', {folder!r}, sys.argv)")
with open(f"base/lib/{version}/site-packages/usercustomize.py", "w") as file:
    file.write("raise OSError('no')")
python("-c", "pass", "a")
python("-c", "pass", "a", PYTHONPATH="custom")
python("-I", "-c", "pass", PYTHONPATH="custom")
python("-S", "-c", "pass", PYTHONPATH="custom")
python("-c", "pass", PYTHONUSERBASE=base)
os.remove("sitecustomize.py")

# An archive is run whatever its name is, also isolated.
with open("tool", "wb") as file:
    file.write(b"#!/usr/bin/env python3\n")
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("__main__.py", "import inner, sys; print(inner.x, sys.argv[1:], sys.argv[0], sys.path[0] == __import__('os').path.abspath('tool'))")
        archive.writestr("inner.py", "x = 5")
python("tool", "a")
python("-I", "tool")

# Threads that start at the end run to their end, and names of `from os import *` are there.
python("-c", "import atexit, threading, time\natexit.register(lambda: threading.Thread(target=lambda: (time.sleep(0.05), print('late'))).start())")
python("-c", "from os import *\nprint(getcwd is not None)")

# The prompts.
for words, typed in ((["-q", "-i"], "def f():\n  1/0\n\nf()\n"), (["-m", "asyncio"], "import asyncio\nprint(await asyncio.sleep(0, 'slept'))\n")):
    ended = subprocess.run([sys.executable, *words], input=typed, capture_output=True, text=True)
    print(ended.returncode, "slept" in ended.stdout, "    1/0\n    ~^~\n" in ended.stderr)

# A stack ends with the program's own frames.
SHOWS = """
import inspect, logging, threading, traceback
def shows():
    traceback.print_stack()
    logging.warning("here", stack_info=True)
    print([frame.function for frame in inspect.stack()], len(traceback.extract_stack()), len(list(traceback.walk_stack(None))))
shows()
thread = threading.Thread(target=lambda: print([frame.function for frame in inspect.stack()][-2:]))
thread.start()
thread.join()
"""
with open("shows.py", "w") as file:
    file.write(SHOWS)
for words in (["shows.py"], ["-c", SHOWS]):
    ended = subprocess.run([sys.executable, *words], capture_output=True, text=True)
    print(ended.stdout + "\n".join(line.replace(os.getcwd() + "/", "") for line in ended.stderr.splitlines()))
