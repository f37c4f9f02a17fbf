# SPDX-License-Identifier: Apache-2.0
"""A container as a process: a root of its own that cannot be written to, the volumes that it mounts, the user that it asks for.

The programs are those of the machine and of the build; what an image would say besides is in IMAGES.
"""
import os
import re
import shutil
import signal
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

# What is set up before the program, in a mount namespace of its own: $root has folders and links made for it.
PREPARE = """
set -e
mount --make-rprivate /
mount --bind "$root" "$root"
mount --rbind /proc "$root/proc"
for name in null zero full random urandom; do mount --bind /dev/$name "$root/dev/$name"; done
"""


@dataclass
class Image:
    """What a name of an image stands for here."""

    environment: dict
    folders: dict = field(default_factory=dict)  # where in the root: which folder of the machine, read-only
    writable: dict = field(default_factory=dict)  # what is in the image below a folder that is mounted writable
    stop_signal: int = signal.SIGTERM


def images(program: Path, rootfs: Path, code: Path) -> dict:
    """By the name without its tag. `code` is machine code that the image has, as it has been compiled before."""
    path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    build = program.resolve().parent.parent
    return {
        "example/cloche": Image({"PATH": "/opt/cloche/bin:" + path, "CLOCHE_ROOTFS": "/opt/cloche/rootfs"},
                                {"/opt/cloche/bin": build / "bin", "/opt/cloche/lib": build / "lib", "/opt/cloche/rootfs": rootfs},
                                {"/var/cache/cloche/modules": code}),
        # HAProxy's own image says so: what has begun is finished.
        "haproxy": Image({"PATH": path}, stop_signal=signal.SIGUSR1),
    }


def expand(text: str, environment: dict) -> str:
    """$(NAME) as Kubernetes has it; $$ is a dollar."""
    def put(found):
        return "$" if found[0] == "$$" else environment.get(found[1], found[0])
    return re.sub(r"\$\$|\$\(([A-Za-z_][A-Za-z0-9_.-]*)\)", put, text)


class Root:
    """The files of a container, but for what is mounted there."""

    def __init__(self, folder: Path, hostname: str, dns: str, namespace: str):
        self.folder = folder
        self.mounts = []  # (from, to, read-only)
        for name in ("proc", "tmp", "var/cache", "var/lib", "run", "dev", "etc"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        for name in ("null", "zero", "full", "random", "urandom"):
            (folder / "dev" / name).touch()
        for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
            if Path("/", name).is_symlink():
                (folder / name).symlink_to(os.readlink(f"/{name}"))
        (folder / "etc/passwd").write_text("root:x:0:0::/:/none\n")
        (folder / "etc/nsswitch.conf").write_text("hosts: files dns\n")
        (folder / "etc/hosts").write_text(f"127.0.0.1 localhost\n127.0.1.1 {hostname}\n")
        # As the kubelet writes it.
        (folder / "etc/resolv.conf").write_text(
            f"search {namespace}.svc.cluster.local svc.cluster.local cluster.local\nnameserver {dns}\noptions ndots:5\n")
        shutil.copy("/etc/ld.so.cache", folder / "etc/ld.so.cache")
        self.mount(Path("/usr"), "/usr", True)

    def mount(self, source: Path, at: str, read_only: bool):
        self.mounts.append((source, at, read_only))

    def script(self) -> str:
        lines = [PREPARE]
        for source, at, read_only in self.mounts:
            # In what has been mounted before; then what is beside it is the user's too.
            open_up = "" if read_only else f' && chmod 777 "$root{Path(at).parent}"'
            lines.append(f'if [ ! -d "$root{at}" ]; then mkdir -p "$root{at}"{open_up}; fi')
            lines.append(f'mount --bind "{source}" "$root{at}"')
            if read_only:
                lines.append(f'mount -o remount,bind,ro "$root{at}"')
        lines.append('mount -o remount,bind,ro "$root"; exec "$@"')
        return "\n".join(lines)


def as_user(spec: dict) -> list:
    """What starts a program as a Pod asks for it: its user, its groups, and no capability."""
    context = spec.get("securityContext", {})
    user, group = context.get("runAsUser", 0), context.get("runAsGroup", 0)
    # A namespace may know one user alone.
    ids = [f"--reuid={user}", f"--regid={group}", f"--groups={context.get('fsGroup', group)}"] if may_be(user) else []
    return ["setpriv", *ids, "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"]


def may_be(user: int) -> bool:
    """Whether this namespace knows that user."""
    for line in Path("/proc/self/uid_map").read_text().splitlines():
        first, _, count = map(int, line.split())
        if first <= user < first + count:
            return True
    return False


def give(path: Path, group: int):
    """As fsGroup does: all of a volume is the group's, which may write it."""
    if not may_be(group):
        return
    for one in [path, *path.rglob("*")]:
        os.chown(one, -1, group, follow_symlinks=False)
        if not one.is_symlink():
            one.chmod(one.stat().st_mode | (0o2770 if one.is_dir() else 0o660))


def start(machine, root: Root, spec: dict, words: list, environment: dict, log: Path) -> subprocess.Popen:
    """The program in the network of `machine`; its process is the one that is returned."""
    # setpriv comes after chroot, which wants the right to it.
    begin = ["unshare", "--mount", "/bin/sh", "-c", root.script(), "container", "chroot", str(root.folder), *as_user(spec), *words]
    with log.open("a") as out:
        return subprocess.Popen(machine.words(*begin), env={**environment, "root": str(root.folder)}, stdin=subprocess.DEVNULL,
                                stdout=out, stderr=out, cwd="/")
