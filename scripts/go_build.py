# SPDX-License-Identifier: Apache-2.0
"""Programs that are compiled from modules of the Go module proxy into the cache, once.

A folder has their go.mod, which says the versions, and go.sum, which has the hashes. What go has compiled stays until all is
there, so that a build that was interrupted goes on.
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

# For machines whose own go is older. It is a module of the proxy too; the sum is of its archive.
TOOLCHAIN_VERSION = (1, 26)
TOOLCHAIN = "golang.org/toolchain@v0.0.1-go1.26.8.linux-"
TOOLCHAIN_SUMS = {"amd64": "h1:ZOmGe1OnfREDMIdb1Qi4G9JSuDPBLGExZMQ4nis1RXM=", "arm64": "h1:sYL/O6MqS68ML0kjsQ36WoYIpJqkw60TxizWUYUKQMc="}
LINE_EVERY_S = 60


class Failure(Exception):
    """What the user reads."""


class Programs:
    """Those of one go.mod. `packages` are their import paths; `setup` is what brings go, in words."""

    def __init__(self, name, here, module, packages, setup, settings=""):
        self.name, self.here, self.packages, self.setup, self.settings = name, here, packages, setup, settings
        self.programs = [package.rsplit("/", 1)[1] for package in packages]
        text = (here / "go.mod").read_text()
        self.version = re.search(re.escape(module) + r" v(\S+)", text)[1]
        self.go = tuple(map(int, re.search(r"^go (\d+)\.(\d+)", text, re.M).groups()))
        self.pins = hashlib.sha256(text.encode() + (here / "go.sum").read_bytes()).hexdigest()[:12]

    def cache(self) -> Path:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        return Path(os.environ.get("CLOCHE_CACHE") or Path(base) / "cloche") / self.name

    def folder(self) -> Path:
        """Another one where another version, other modules or another compiler are asked for."""
        return self.cache() / f"{self.version}-{self.pins}"

    def exist(self) -> bool:
        return all(os.access(self.folder() / program, os.X_OK) for program in self.programs)

    def make(self) -> Path:
        if self.exist():
            return self.folder()
        self.cache().mkdir(parents=True, exist_ok=True)
        with (self.cache() / "lock").open("w") as lock, (self.cache() / "build.log").open("w") as log:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if self.exist():  # somebody else has made them meanwhile
                return self.folder()
            part = self.folder().with_suffix(".part")
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir()
            self._compile_into(part, self._toolchain(), log)
            shutil.rmtree(self.folder(), ignore_errors=True)
            part.rename(self.folder())
            for name in ("compiled", "go"):
                shutil.rmtree(self.cache() / name, ignore_errors=True)
        return self.folder()

    def main(self) -> int:
        if sys.argv[1:] == ["--has"]:
            if self.exist():
                print(self.folder())
            return 0 if self.exist() else 1
        try:
            print(self.make())
        except Failure as failure:
            print(f"{self.name}: {failure}", file=sys.stderr)
            return 2
        except KeyboardInterrupt:
            return 130
        return 0

    def _toolchain(self) -> str:
        """A go that is new enough."""
        own = shutil.which("go")
        if not own:
            raise Failure(f"go is not installed: {self.setup}")
        found = re.search(r"go(\d+)\.(\d+)", subprocess.run([own, "version"], capture_output=True, text=True, check=True).stdout)
        if tuple(map(int, found.groups())) >= self.go:
            return own
        if self.go > TOOLCHAIN_VERSION:
            raise Failure(f"go {self.go[0]}.{self.go[1]} is wanted, which scripts/go_build.py does not name: install it")
        machine = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]
        with tempfile.TemporaryDirectory() as empty:  # not in our module, which an older go does not read
            done = subprocess.run([own, "mod", "download", "-json", TOOLCHAIN + machine], cwd=empty, capture_output=True, text=True,
                                  check=False)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["?"])[-1]
            raise Failure(f"go {self.go[0]}.{self.go[1]} cannot be had, is there a network? ({last})")
        facts = json.loads(done.stdout)
        if facts["Sum"] != TOOLCHAIN_SUMS[machine]:
            raise Failure(f"{TOOLCHAIN}{machine} is not the one that scripts/go_build.py names: its sum is {facts['Sum']}")
        go = Path(facts["Dir"], "bin/go")
        if not os.access(go, os.X_OK):  # archives of modules know no such bit
            made = self.cache() / "go"
            shutil.rmtree(made, ignore_errors=True)
            shutil.copytree(facts["Dir"], made)
            for program in [*made.glob("bin/*"), *made.glob("pkg/tool/*/*")]:
                program.chmod(0o755)
            go = made / "bin/go"
        return str(go)

    def _compile_into(self, part: Path, go: str, log):
        environment = {**os.environ, "CGO_ENABLED": "0", "GOCACHE": str(self.cache() / "compiled"), "GOTOOLCHAIN": "local",
                       "GOFLAGS": f"{os.environ.get('GOFLAGS', '')} -mod=readonly -buildvcs=false".strip()}
        sys.stderr.write(f"{self.name}: fetching the modules of {self.version}\n")
        listed = subprocess.run([go, "list", "-deps", *self.packages], cwd=self.here, env=environment, stdout=subprocess.PIPE, stderr=log,
                                text=True, check=False)
        if listed.returncode:
            raise Failure(f"the modules cannot be had, is there a network? See {log.name}")
        sys.stderr.write(f"{self.name}: compiling {', '.join(self.programs)}, once, of {len(set(listed.stdout.split()))} packages\n")
        progress = Progress(self.name, len(set(listed.stdout.split())))
        with subprocess.Popen([go, "build", "-v", "-trimpath", "-ldflags", f"-s -w {self.settings}", "-o", str(part) + "/", *self.packages],
                              cwd=self.here, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True) as build:
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
            raise Failure(f"the programs do not compile: see {log.name}")


class Progress:
    """A line that is drawn anew, or one each minute where it cannot be."""

    def __init__(self, name, total):
        self.name, self.total, self.done, self.begin, self.said = name, total, 0, time.monotonic(), time.monotonic()

    def step(self):
        self.done = min(self.done + 1, self.total)
        now = time.monotonic()
        if now - self.said < (0.2 if sys.stderr.isatty() else LINE_EVERY_S):
            return
        self.said = now
        minutes, seconds = divmod(int(now - self.begin), 60)
        text = f"{self.name}: compiled {self.done} of {self.total} packages, {minutes}:{seconds:02d}"
        sys.stderr.write(f"\r{text}\x1b[K" if sys.stderr.isatty() else text + "\n")
        sys.stderr.flush()

    def end(self):
        if sys.stderr.isatty():
            sys.stderr.write("\r\x1b[K")
