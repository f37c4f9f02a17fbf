"""Source archives: fetched by their registry's ordinary client, pinned by SHA-256, kept in the cache by that hash."""

import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

from common import BuildError, cache_root, locked, run_logged, say

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))

import npm_registry  # noqa: E402

# Debian source packages are asked for in these releases. The upstream archive keeps its hash over Debian revisions, so any
# revision that carries it serves, also when the release's newest one has a later version.
DEBIAN_RELEASES = ("bookworm", "bookworm-updates", "trixie", "trixie-updates")
DEBIAN_LAST_RESORT = ("sid",)
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


def sha256_of(path):
    digest = hashlib.sha256()
    with open(path, "rb") as f:
        while block := f.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def fetch(source):
    """The path of the archive that a recipe's [source] table names; fetches it when the cache has not got it."""
    folder = cache_root() / "sources"
    path = folder / f"{source['sha256'][:16]}-{source['file']}"
    with locked(folder / ".lock"):
        if path.exists():
            if sha256_of(path) == source["sha256"]:
                return path
            path.unlink()
        say(f"fetching {source['file']}")
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            got = _FETCHERS[source["kind"]](source, pathlib.Path(scratch))
            if sha256_of(got) != source["sha256"]:
                raise BuildError(f"{source['file']} has another SHA-256 than the recipe pins: it was refused")
            shutil.move(got, path)
    return path


def unpack(archive, into):
    """Unpacks an archive; a single top folder in it is left out."""
    into = pathlib.Path(into)
    staging = into.with_name(into.name + ".unpack")
    staging.mkdir(parents=True)
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as z:
            z.extractall(staging)
    else:
        with tarfile.open(archive) as t:
            t.extractall(staging, filter="data") if hasattr(tarfile, "data_filter") else t.extractall(staging)
    tops = list(staging.iterdir())
    os.rename(tops[0] if len(tops) == 1 and tops[0].is_dir() else staging, into)
    shutil.rmtree(staging, ignore_errors=True)


def fetch_patches(source):
    """The paths of the patches that a source table names in `patches`, in its order: Debian's own, each pinned by its SHA-256. Of
    which revision of the package one comes does not matter: a revision that follows has it too, or its build would lack the mend."""
    folder = cache_root() / "sources"
    pinned = source.get("patches", {})
    paths = [_kept(folder, name, sha256) for name, sha256 in pinned.items()]

    def missing():
        return [name for path, (name, sha256) in zip(paths, pinned.items())
                if not path.exists() or sha256_of(path) != sha256]

    with locked(folder / ".lock"):
        for refresh in (False, True):
            if missing():
                _fetch_debian_patches(source, folder, refresh)
        if missing():
            raise BuildError(f"no revision of Debian's {source['package']} in reach has with its pinned SHA-256: "
                             f"{', '.join(missing())}")
    return paths


def apply(patches, log, tree):
    """Patches, in their order, on an unpacked archive: each has to fit to the line."""
    for patch in patches:
        run_logged(["patch", "-p1", "-F0", "--no-backup-if-mismatch", "-i", patch], log, tree)


def _kept(folder, name, sha256):
    return folder / f"{sha256[:16]}-{pathlib.PurePath(name).name}"


def _fetch_debian_patches(source, folder, refresh):
    say(f"fetching patches of {source['file']}")
    apt, versions = _versions_in_reach(source, refresh)
    for version in versions:
        for name, content in _patches_of(apt, source["package"], version):
            if hashlib.sha256(content).hexdigest() == source["patches"].get(name):
                _kept(folder, name, source["patches"][name]).write_bytes(content)


def _patches_of(apt, package, version):
    """(name, content) of each patch of a revision of a Debian package."""
    with tempfile.TemporaryDirectory() as scratch:
        apt.run("apt-get", "source", "--download-only", "--diff-only", "--only-source", f"{package}={version}", cwd=scratch)
        for archive in pathlib.Path(scratch).glob("*.debian.tar.*"):
            with tarfile.open(archive) as t:
                for member in t:
                    name = member.name.removeprefix("debian/patches/")
                    if member.isfile() and name != member.name:
                        yield name, t.extractfile(member).read()


def ask_debian_anew():
    """What the releases have now, for all that is asked for afterwards."""
    _Apt(DEBIAN_RELEASES).run("apt-get", "update")


def patches_in_reach(source):
    """(the newest revision of a Debian package that has the archive, the SHA-256 of each of its patches by name)."""
    apt, versions = _versions_in_reach(source)
    newest = versions[0]
    for version in versions[1:]:
        if subprocess.run(["dpkg", "--compare-versions", version, "gt", newest]).returncode == 0:
            newest = version
    return newest, {name: hashlib.sha256(content).hexdigest() for name, content in _patches_of(apt, source["package"], newest)
                    if name != "series"}


def _debian_mirrors():
    """The mirrors that this machine's apt is set up with: (main archive, security archive or None)."""
    listing = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)"],
                             capture_output=True, text=True)
    main = security = None
    for line in listing.stdout.splitlines():
        fields = line.split()
        if len(fields) != 3 or fields[2] != "main":
            continue
        if fields[1].endswith("-security"):
            security = security or fields[0]
        elif re.fullmatch(r"(bookworm|trixie|sid|stable|testing)(-updates)?", fields[1]):
            main = main or fields[0]
    if not main:
        raise BuildError("apt on this machine has no Debian archive among its sources, so sources cannot be fetched")
    return main, security


class _Apt:
    """apt-get with lists, cache and sources of its own: needs no root and leaves the machine's alone."""

    def __init__(self, releases, kind="deb-src"):
        self.home = cache_root() / ("apt" if kind == "deb-src" else "apt-packages")
        for folder in ("state/lists/partial", "cache/archives/partial"):
            (self.home / folder).mkdir(parents=True, exist_ok=True)
        main, security = _debian_mirrors()
        signed = f"[signed-by={KEYRING}] " if os.path.exists(KEYRING) else ""
        lines = [f"{kind} {signed}{main} {release} main" for release in releases]
        if security:
            lines += [f"{kind} {signed}{security} {release}-security main" for release in ("bookworm", "trixie")]
        self.sources = self.home / "sources.list"
        self.sources.write_text("\n".join(lines) + "\n")

    def run(self, program, *arguments, cwd=None):
        options = [f"-oDir::State={self.home}/state", f"-oDir::Cache={self.home}/cache",
                   f"-oDir::Etc::sourcelist={self.sources}", "-oDir::Etc::sourceparts=-",
                   "-oAcquire::Languages=none", "-oAPT::Sandbox::User=", "-oAcquire::Retries=3"]
        return subprocess.run([program, *options, *arguments], cwd=cwd, capture_output=True, text=True)

    def versions_with(self, package, sha256):
        """The versions of a source package that carry the archive of this hash."""
        shown = self.run("apt-cache", "showsrc", "--only-source", package)
        return [re.search(r"^Version: (\S+)", block, re.M).group(1)
                for block in shown.stdout.split("\n\n") if sha256 in block]


def _versions_in_reach(source, refresh=False):
    """Where Debian has an archive: an _Apt and the versions that carry it, from the nearest releases that have any. Debian is asked
    anew what it has where none is known, or where `refresh` says so."""
    for releases in (DEBIAN_RELEASES, DEBIAN_RELEASES + DEBIAN_LAST_RESORT):
        apt = _Apt(releases)
        versions = [] if refresh else apt.versions_with(source["package"], source["sha256"])
        if not versions:
            apt.run("apt-get", "update")
            versions = apt.versions_with(source["package"], source["sha256"])
        if versions:
            return apt, versions
    raise BuildError(f"no Debian release in reach has {source['file']} with the pinned SHA-256 (is the network there?)")


def _fetch_debian(source, scratch):
    package = source["package"]
    apt, versions = _versions_in_reach(source)
    done = apt.run("apt-get", "source", "--download-only", "--tar-only", "--only-source", f"{package}={versions[0]}",
                   cwd=scratch)
    path = scratch / source["file"]
    if not path.exists():
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise BuildError(f"apt-get could not fetch {source['file']}: {reason}")
    return path


def _fetch_package(source, scratch):
    """A binary package, by its version: of files that are the same on every machine."""
    apt = _Apt(DEBIAN_RELEASES + DEBIAN_LAST_RESORT, "deb")
    wanted = f"{source['package']}={source['version']}"
    path = scratch / source["file"]
    for command in (["download", wanted], ["update"], ["download", wanted]):
        done = apt.run("apt-get", "-oAPT::Architecture=amd64", *command, cwd=scratch)
        if path.exists():
            return path
    reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
    raise BuildError(f"apt-get could not fetch {source['file']}, does Debian still have that version? {reason}")


def _fetch_pypi(source, scratch):
    command = ["python3", "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", str(scratch)]
    if "platform" in source:
        command += ["--platform", source["platform"]]
    done = subprocess.run([*command, f"{source['package']}=={source['version']}"], capture_output=True, text=True)
    path = scratch / source["file"]
    if not path.exists():
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise BuildError(f"pip could not fetch {source['file']}: {reason}")
    return path


def _fetch_pypi_source(source, scratch):
    """A source archive: pip checks its hash before it looks into it."""
    wanted = scratch / "requirements.txt"
    wanted.write_text(f"{source['package']}=={source['version']} --hash=sha256:{source['sha256']}\n")
    command = ["python3", "-m", "pip", "download", "--quiet", "--no-deps", f"--no-binary={source['package']}", "--dest", str(scratch),
               "--requirement", str(wanted)]
    env = dict(os.environ)
    if source.get("built_by"):  # of backends/
        command.append("--no-build-isolation")
        env["PYTHONPATH"] = str(pathlib.Path(__file__).resolve().parent / "backends")
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    path = scratch / source["file"]
    if not path.exists():
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise BuildError(f"pip could not fetch {source['file']}: {reason}")
    return path


def _fetch_crate(source, scratch):
    home = pathlib.Path(os.environ.get("CARGO_HOME") or os.path.expanduser("~/.cargo"))

    def kept():
        return next(home.glob(f"registry/cache/*/{source['file']}"), None)

    done = None
    if not kept():
        try:
            done = subprocess.run(["cargo", "info", "--quiet", f"{source['package']}@{source['version']}"],
                                  cwd=scratch, capture_output=True, text=True)
        except FileNotFoundError:
            raise BuildError("cargo is not installed: run scripts/setup") from None
    if not (archive := kept()):
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise BuildError(f"cargo could not fetch {source['file']}: {reason}")
    return shutil.copy(archive, scratch)


def _fetch_npm(source, scratch):
    path = scratch / source["file"]
    try:
        path.write_bytes(npm_registry.archive(source["package"], source["version"]))
    except npm_registry.Unavailable as why:
        raise BuildError(f"{source['file']} could not be fetched: {why}") from None
    return path


_FETCHERS = {"debian": _fetch_debian, "debian-package": _fetch_package, "pypi": _fetch_pypi, "pypi-source": _fetch_pypi_source, "crate": _fetch_crate, "npm": _fetch_npm}
