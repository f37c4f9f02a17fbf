"""What every part of the userland build shares: where things lie, how a failure is told, how content is hashed."""

import contextlib
import fcntl
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import time

CRATES = "registry+https://github.com/rust-lang/crates" + ".io-index"  # as cargo calls its own registry; no host is written down
USERLAND = pathlib.Path(__file__).resolve().parent.parent
LLVM = "22"

# How much of the log of what failed is shown.
LOG_LINES = 15

_print_lock = threading.Lock()


class BuildError(Exception):
    """A failure that the person who builds can act on: one sentence; and the log whose end has the reason, where there is one."""

    def __init__(self, sentence, log=None):
        super().__init__(sentence)
        self.log = log


def cache_root():
    base = os.environ.get("CLOCHE_CACHE")
    if not base:
        base = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "cloche")
    return pathlib.Path(base) / "userland"


def say(message):
    with _print_lock:
        print(f"userland: {message}", file=sys.stderr, flush=True)


def tell(error, about=""):
    """Says what failed, and the end of its log."""
    lines = []
    if log := getattr(error, "log", None):
        with contextlib.suppress(OSError):
            lines = log.read_text(errors="replace").splitlines()[-LOG_LINES:]
    say("\n".join([f"{about}{error}"] + [f"  | {line}" for line in lines]))


def tool(name):
    """The path of a tool of the pinned LLVM release, such as clang or llvm-ar."""
    path = shutil.which(f"{name}-{LLVM}")
    if not path:
        raise BuildError(f"{name}-{LLVM} is not installed: install clang-{LLVM}, lld-{LLVM}, llvm-{LLVM} and "
                         f"libclang-rt-{LLVM}-dev-wasm32")
    return path


def toolchain_id():
    """Names the compiler exactly, for content hashes."""
    version = subprocess.run([tool("clang"), "--version"], capture_output=True, text=True, check=True)
    return version.stdout.splitlines()[0]


def hash_tree(digest, root):
    """Adds the names and the content of the files below root (or of the file root) to the digest."""
    root = pathlib.Path(root)
    files = sorted(p for p in root.rglob("*") if p.is_file()) if root.is_dir() else [root]
    for path in files:
        if "__pycache__" in path.parts:
            continue
        digest.update(str(path.relative_to(root)).encode() + b"\0")
        digest.update(hashlib.sha256(path.read_bytes()).digest())


def content_hash(*parts):
    """A short hash over strings and over files or folders (as Path)."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, pathlib.Path):
            hash_tree(digest, part)
        else:
            digest.update(str(part).encode() + b"\0")
    return digest.hexdigest()[:16]


@contextlib.contextmanager
def locked(path):
    """One build of a thing at a time on this machine."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def ccache_if_built_before(name):
    """The compiler cache where there has been a build of the thing: the first one would pay for it and find nothing in it."""
    before = any(re.fullmatch(re.escape(name) + r"-[0-9a-f]{16}", folder.name) for folder in cache_root().glob(f"{name}-*"))
    return (shutil.which("ccache") or "") if before else ""


def run_logged(command, log, cwd, env=None, pass_fds=()):
    """Runs a command with its output in the log; a failure names the log. The CPU seconds of it and of its children."""
    with open(log, "ab") as out:
        out.write(f"\n$ {' '.join(str(c) for c in command)}\n".encode())
        out.flush()
        process = subprocess.Popen([str(c) for c in command], cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=out,
                                   stderr=subprocess.STDOUT, pass_fds=pass_fds)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise BuildError(f"{pathlib.Path(str(command[0])).name} failed with status {process.returncode}: see {log}", log)
    return used.ru_utime + used.ru_stime


@contextlib.contextmanager
def scratch_folder(name):
    """A folder to build in, always the same for a name: a compiler cache knows its paths again. Callers hold the name's lock."""
    folder = cache_root() / "scratch" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def prune(days):
    """Removes built things that nobody has used for so many days, and scratch folders of builds that were killed."""
    oldest = time.time() - days * 86400
    for folder in cache_root().iterdir():
        if re.fullmatch(r"[\w.+-]+-[0-9a-f]{16}", folder.name) and folder.is_dir() and folder.stat().st_mtime < oldest:
            shutil.rmtree(folder, ignore_errors=True)
    for folder in (cache_root() / "scratch").glob("*"):
        if folder.stat().st_mtime < time.time() - 86400:
            shutil.rmtree(folder, ignore_errors=True)


def new_log(name):
    log = cache_root() / "logs" / f"{name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_bytes(b"")
    return log


def built_folder(name, key):
    return cache_root() / f"{name}-{key}"


def build_once(name, key, make):
    """The folder of a name and a content hash in the cache, built when it is not there, and the CPU seconds that this took. `make` gets
    a scratch folder and a log, leaves what it has made in the scratch folder's out/, and returns its CPU seconds or None. What it
    has made gets to its place as a whole or not at all."""
    final, cpu_s = built_folder(name, key), 0
    with locked(cache_root() / "locks" / name):
        if not final.exists():
            with scratch_folder(name) as scratch:
                cpu_s = make(scratch, new_log(name)) or 0
                os.rename(scratch / "out", final)
    os.utime(final)  # in use: see prune
    return final, cpu_s


def point_at(name, final):
    """Makes the link of that name in the cache lead to a folder of it."""
    with locked(cache_root() / "locks" / f"{name}.link"):
        fresh = cache_root() / f"{name}.{os.getpid()}"
        fresh.symlink_to(final.name)
        os.replace(fresh, cache_root() / name)
