#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles the programs of a control plane of Kubernetes from the Go module proxy into the cache, and prints their folder.

    build.py        compiles them where the cache has not got them: a quarter of an hour of two processors
    build.py --has  prints the folder where the cache has them; exit 1 where not

go.mod beside it has the version, go.sum the hashes. What go has compiled stays until all is there, so that a build that was
interrupted goes on. Exit 2 with one sentence where they cannot be had; what go said is in the cache beside the folder.
"""
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAMS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
MODULE = (HERE / "go.mod").read_text()
VERSION = re.search(r"k8s\.io/kubernetes v(\S+)", MODULE)[1]
GO = tuple(map(int, re.search(r"^go (\d+)\.(\d+)", MODULE, re.M).groups()))
# For machines whose own go is older. It is a module of the proxy too; the sum is of its archive.
TOOLCHAIN = "golang.org/toolchain@v0.0.1-go1.26.8.linux-"
TOOLCHAIN_SUMS = {"amd64": "h1:ZOmGe1OnfREDMIdb1Qi4G9JSuDPBLGExZMQ4nis1RXM=", "arm64": "h1:sYL/O6MqS68ML0kjsQ36WoYIpJqkw60TxizWUYUKQMc="}
LINE_EVERY_S = 60


class Failure(Exception):
    """What the user reads."""


def cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(os.environ.get("CLOCHE_CACHE") or Path(base) / "cloche") / "kubernetes"


def folder() -> Path:
    """Another one where another version, other modules or another compiler are asked for."""
    pins = hashlib.sha256(MODULE.encode() + (HERE / "go.sum").read_bytes()).hexdigest()[:12]
    return cache() / f"{VERSION}-{pins}"


def toolchain() -> str:
    """A go that is new enough."""
    own = shutil.which("go")
    if not own:
        raise Failure("go is not installed: run scripts/setup packages-cluster.txt")
    found = re.search(r"go(\d+)\.(\d+)", subprocess.run([own, "version"], capture_output=True, text=True, check=True).stdout)
    if tuple(map(int, found.groups())) >= GO:
        return own
    machine = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]
    with tempfile.TemporaryDirectory() as empty:  # not in our module, which an older go does not read
        done = subprocess.run([own, "mod", "download", "-json", TOOLCHAIN + machine], cwd=empty, capture_output=True, text=True,
                              check=False)
    if done.returncode:
        raise Failure(f"go {GO[0]}.{GO[1]} cannot be had, is there a network? ({(done.stderr.strip().splitlines() or ['?'])[-1]})")
    facts = json.loads(done.stdout)
    if facts["Sum"] != TOOLCHAIN_SUMS[machine]:
        raise Failure(f"{TOOLCHAIN}{machine} is not the one that tests/cluster/plane/build.py names: its sum is {facts['Sum']}")
    go = Path(facts["Dir"], "bin/go")
    if not os.access(go, os.X_OK):  # archives of modules know no such bit
        made = cache() / "go"
        shutil.rmtree(made, ignore_errors=True)
        shutil.copytree(facts["Dir"], made)
        for program in [*made.glob("bin/*"), *made.glob("pkg/tool/*/*")]:
            program.chmod(0o755)
        go = made / "bin/go"
    return str(go)


class Progress:
    """A line that is drawn anew, or one each minute where it cannot be."""

    def __init__(self, total):
        self.total, self.done, self.begin, self.said = total, 0, time.monotonic(), time.monotonic()

    def step(self):
        self.done = min(self.done + 1, self.total)
        now = time.monotonic()
        if now - self.said < (0.2 if sys.stderr.isatty() else LINE_EVERY_S):
            return
        self.said = now
        minutes, seconds = divmod(int(now - self.begin), 60)
        text = f"kubernetes: compiled {self.done} of {self.total} packages, {minutes}:{seconds:02d}"
        sys.stderr.write(f"\r{text}\x1b[K" if sys.stderr.isatty() else text + "\n")
        sys.stderr.flush()

    def end(self):
        if sys.stderr.isatty():
            sys.stderr.write("\r\x1b[K")


def compile_into(part: Path, go: str, log):
    environment = {**os.environ, "CGO_ENABLED": "0", "GOCACHE": str(cache() / "compiled"), "GOTOOLCHAIN": "local",
                   "GOFLAGS": f"{os.environ.get('GOFLAGS', '')} -mod=readonly -buildvcs=false".strip()}
    packages = ["k8s.io/kubernetes/cmd/" + program for program in PROGRAMS]
    sys.stderr.write(f"kubernetes: fetching the modules of {VERSION}\n")
    listed = subprocess.run([go, "list", "-deps", *packages], cwd=HERE, env=environment, stdout=subprocess.PIPE, stderr=log, text=True,
                            check=False)
    if listed.returncode:
        raise Failure(f"the modules of Kubernetes cannot be had, is there a network? See {log.name}")
    sys.stderr.write(f"kubernetes: compiling {', '.join(PROGRAMS)}, once: a quarter of an hour of two processors\n")
    names = "k8s.io/component-base/version"
    flags = f"-s -w -X {names}.gitVersion=v{VERSION} -X {names}.gitMajor={VERSION.split('.')[0]} -X {names}.gitMinor={VERSION.split('.')[1]}"
    progress = Progress(len(set(listed.stdout.split())))
    with subprocess.Popen([go, "build", "-v", "-trimpath", "-ldflags", flags, "-o", str(part) + "/", *packages], cwd=HERE, env=environment,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as build:
        try:
            for line in build.stdout:
                log.write(line)
                log.flush()
                progress.step()
        except BaseException:
            build.terminate()
            raise
    progress.end()
    if build.returncode:
        raise Failure(f"the programs of Kubernetes do not compile: see {log.name}")


def has(programs: Path) -> bool:
    return all(os.access(programs / program, os.X_OK) for program in PROGRAMS)


def make() -> Path:
    programs = folder()
    if has(programs):
        return programs
    cache().mkdir(parents=True, exist_ok=True)
    with (cache() / "lock").open("w") as lock, (cache() / "build.log").open("w") as log:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if has(programs):  # somebody else has made them meanwhile
            return programs
        part = programs.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
        compile_into(part, toolchain(), log)
        shutil.rmtree(programs, ignore_errors=True)
        part.rename(programs)
        for name in ("compiled", "go"):
            shutil.rmtree(cache() / name, ignore_errors=True)
    return programs


def main() -> int:
    if sys.argv[1:] == ["--has"]:
        if has(folder()):
            print(folder())
            return 0
        return 1
    try:
        print(make())
    except Failure as failure:
        print(f"kubernetes: {failure}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
