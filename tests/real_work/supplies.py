#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""supplies.py PROGRAM: brings what the tests of this folder work with into the cache, and prints where that is.

    images/   a store of images with IMAGE, which `cloche image make debian` makes
    wheels/   those of requirements.txt, by pip
    npm/      the archives of npm.txt, from the registry that npm's settings name
    debian/   the packages of debian.txt, by apt

Each is there as it is listed, or is not there: what its list says is in its name, and it gets that name when it is whole.
Nothing is downloaded where all is there. Exit 2 with one sentence when something cannot be had.
"""
import base64
import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Callable

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "scripts"))
import npm_registry  # noqa: E402

IMAGE = "debian"
IMAGE_PACKAGES = ("build-essential", "curl", "nodejs")


class Unavailable(Exception):
    """What cannot be had, and why."""


def listed(name: str) -> list[list[str]]:
    """The words of each line of a list."""
    lines = (HERE / name).read_text().splitlines()
    return [line.split() for line in lines if line and not line.startswith("#")]


def store() -> Path:
    cache = os.environ.get("CLOCHE_CACHE") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "cloche")
    return Path(cache, "real-work")


def run(*words: str | Path, cwd: Path, **environment: str) -> None:
    try:
        done = subprocess.run([str(word) for word in words], cwd=cwd, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, **environment}, check=False)
    except FileNotFoundError:
        raise Unavailable(f"{words[0]} is not installed: run scripts/setup packages-linux.txt") from None
    if done.returncode:
        said = (done.stdout.strip() or f"status {done.returncode}").splitlines()[-1].strip()
        raise Unavailable(f"{' '.join(map(str, words[:3]))} failed, is there a network? ({said})")


def make_images(folder: Path, program: Path) -> None:
    folder.chmod(0o755)  # a box's user reads it, whoever runs this
    run(program, "image", "make", "debian", "--packages", ",".join(IMAGE_PACKAGES), "--name", IMAGE, cwd=folder,
        CLOCHE_IMAGES=str(folder))


def bring_wheels(folder: Path) -> None:
    run("/usr/bin/python3", "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes",
        "--only-binary=:all:", "--dest", folder, "--requirement", HERE / "requirements.txt", cwd=folder)


def bring_archives(folder: Path) -> None:
    for package, version, digest in listed("npm.txt"):
        try:
            data = npm_registry.archive(package, version)
        except npm_registry.Unavailable as why:
            raise Unavailable(f"{package} {version} could not be downloaded, is there a network? ({why})") from None
        kind, _, text = digest.partition("-")
        if hashlib.new(kind, data).digest() != base64.b64decode(text):
            raise Unavailable(f"{package} {version} is not the archive that npm.txt names: its {kind} is another one")
        (folder / f"{package.replace('/', '+')}@{version}.tgz").write_bytes(data)


def bring_debian(folder: Path) -> None:
    """apt checks what it brings by the signatures of the distribution. It has lists of its own, which are of today."""
    for part in ("lists/partial", "archives/partial"):
        (folder / "apt" / part).mkdir(parents=True)
    own = ["-q", "-o", f"Dir::State::Lists={folder}/apt/lists", "-o", f"Dir::Cache={folder}/apt",
           "-o", "APT::Sandbox::User=root"]
    run("apt-get", *own, "update", cwd=folder)
    run("apt-get", *own, "download", *(name for name, in listed("debian.txt")), cwd=folder)
    shutil.rmtree(folder / "apt")


def bring(name: str, lists: str, make: Callable[[Path], None]) -> Path:
    """The folder of that name, made where it is not there yet; those of older lists go."""
    folder = store() / f"{name}-{hashlib.sha256(lists.encode()).hexdigest()[:12]}"
    if folder.exists():
        return folder
    print(f"supplies: {name}", file=sys.stderr)
    with tempfile.TemporaryDirectory(dir=store(), prefix=".part-") as temporary:
        part = Path(temporary, name)
        part.mkdir()
        make(part)
        for old in store().glob(f"{name}-*"):
            shutil.rmtree(old)
        part.rename(folder)
    return folder


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    program = Path(arguments[0]).resolve()
    store().mkdir(parents=True, exist_ok=True)
    store().chmod(0o755)
    try:
        if platform.machine() != "x86_64":
            raise Unavailable(f"their lists are for x86_64, and this machine is {platform.machine()}")
        with (store() / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            print(f"images={bring('images', ' '.join(IMAGE_PACKAGES), lambda folder: make_images(folder, program))}")
            for name, text, make in (("wheels", "requirements.txt", bring_wheels), ("npm", "npm.txt", bring_archives),
                                     ("debian", "debian.txt", bring_debian)):
                print(f"{name}={bring(name, (HERE / text).read_text(), make)}")
        return 0
    except Unavailable as why:
        print(f"supplies: {why}.", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
