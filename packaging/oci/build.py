#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the OCI image, without a daemon and without root.

    packaging/oci/build.py BUILD OUT

OUT/image is an image layout, OUT/cloche-VERSION-image-ARCH.tar the same as one file, which `docker load`
and `podman load` take. The image holds the program, the shared libraries that it needs and nothing of a
distribution else: no shell, no package manager. It runs as uid 65532, and needs to write nowhere. The
same input gives the same bytes. CLOCHE_IMAGE_LEVEL says how much to compress, 0 to 9 (6);
CLOCHE_SYSROOT where the libraries of a program for another machine are.
"""
from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "packaging/portable"))
import elf  # noqa: E402
from layer import EPOCH, Layer  # noqa: E402

UID = 65532
VERSION = (ROOT / "VERSION").read_text().strip()
CREATED = "2026-01-01T00:00:00Z"
# Of what is installed, what an image has no use for.
LEFT_OUT = ("usr/include", "usr/lib/cmake", "usr/lib/pkgconfig", "usr/share/man", "usr/share/bash-completion",
            "usr/share/zsh")
FILES = {
    "etc/passwd": f"root:x:0:0::/:/none\ncloche:x:{UID}:{UID}::/var/lib/cloche:/none\n",
    "etc/group": f"root:x:0:\ncloche:x:{UID}:\n",
    "etc/nsswitch.conf": "hosts: files dns\n",
}


def staged(build: Path, out: Path) -> Path:
    root = out / ".image-root"
    shutil.rmtree(root, ignore_errors=True)
    elf.run("cmake", "--install", build, "--prefix", "/usr", "--strip", env={**os.environ, "DESTDIR": str(root)})
    for name in LEFT_OUT:
        shutil.rmtree(root / name, ignore_errors=True)
    for path in (root / "usr/lib").glob("libcloche.*"):
        path.unlink()
    return root


def add_base(layer: Layer, program: Path, sysroot: Path) -> None:
    """What the program needs of a system."""
    asked, loader = elf.loader_of(program, sysroot)
    triplet = f"{elf.machine_of(program)}-linux-gnu"
    licences = set()
    for name, path in elf.libraries_of(program, sysroot).items():
        if name not in (Path(asked).name, "libwasmtime.so"):
            layer.add(f"usr/lib/{triplet}/{name}", path, 0o755)
        licences.add(elf.licence_of(path, sysroot))
    for licence in sorted(licences - {None}):
        layer.add(f"usr/share/doc/{licence.parent.name}/copyright", licence)
    layer.add(asked.lstrip("/"), loader, 0o755)
    for name, content in FILES.items():
        layer.add(name, content.encode())
    certificates = Path("/etc/ssl/certs/ca-certificates.crt")
    if certificates.exists():
        layer.add("etc/ssl/certs/ca-certificates.crt", certificates)
        layer.link("usr/lib/ssl/cert.pem", "/etc/ssl/certs/ca-certificates.crt")
    layer.folder("tmp", 0o1777)
    for name in ("var/lib/cloche", "var/cache/cloche"):
        layer.folder(name, 0o700, UID)


def put(blobs: Path, value: dict, media_type: str) -> dict:
    data = json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
    digest = hashlib.sha256(data).hexdigest()
    (blobs / digest).write_bytes(data)
    return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(data)}


def config(architecture: str, diff_ids: list[str]) -> dict:
    return {
        "architecture": architecture, "os": "linux", "created": CREATED,
        "config": {
            "User": f"{UID}:{UID}", "Entrypoint": ["/usr/bin/cloche"], "Cmd": ["help"],
            "WorkingDir": "/var/lib/cloche", "ExposedPorts": {"8000/tcp": {}}, "StopSignal": "SIGTERM",
            "Env": ["PATH=/usr/bin", "HOME=/var/lib/cloche", "XDG_CACHE_HOME=/var/cache", "LANG=C.UTF-8"],
            "Labels": {"org.opencontainers.image.title": "cloche", "org.opencontainers.image.version": VERSION,
                       "org.opencontainers.image.licenses": "Apache-2.0",
                       "org.opencontainers.image.description": "Private computers for agents"}},
        "rootfs": {"type": "layers", "diff_ids": diff_ids},
        "history": [{"created": CREATED, "created_by": what}
                    for what in ("libraries", "the guests' system", "the program")],
    }


def write_index(layout: Path, architecture: str, layers: list[tuple[dict, str]]) -> None:
    blobs = layout / "blobs/sha256"
    about = put(blobs, config(architecture, [diff for _, diff in layers]), "application/vnd.oci.image.config.v1+json")
    manifest = put(blobs, {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
                           "config": about, "layers": [layer for layer, _ in layers]},
                   "application/vnd.oci.image.manifest.v1+json")
    (layout / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}')
    (layout / "index.json").write_text(json.dumps({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [{**manifest, "platform": {"architecture": architecture, "os": "linux"},
                       "annotations": {"org.opencontainers.image.ref.name": VERSION,
                                       "io.containerd.image.name": f"localhost/cloche:{VERSION}"}}]}))

    def blob(part: dict) -> str:
        return f"blobs/sha256/{part['digest'].partition(':')[2]}"

    # Older programs read this one.
    (layout / "manifest.json").write_text(json.dumps([{
        "Config": blob(about), "RepoTags": [f"localhost/cloche:{VERSION}"],
        "Layers": [blob(layer) for layer, _ in layers]}]))


def pack(layout: Path, target: Path) -> None:
    with tarfile.open(target, "w", format=tarfile.GNU_FORMAT) as tar:
        for path in sorted(layout.rglob("*")):
            entry = tar.gettarinfo(path, str(path.relative_to(layout)))
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = ""
            entry.mtime, entry.mode = EPOCH, 0o755 if path.is_dir() else 0o644
            if path.is_dir():
                tar.addfile(entry)
                continue
            with open(path, "rb") as stream:
                tar.addfile(entry, stream)


def main(build: Path, out: Path) -> None:
    level = int(os.environ.get("CLOCHE_IMAGE_LEVEL", "6"))
    sysroot = Path(os.environ.get("CLOCHE_SYSROOT") or "/")
    program = build / "bin/cloche"
    architecture = {"x86_64": "amd64", "aarch64": "arm64"}[elf.machine_of(program)]
    root, layout = staged(build, out), out / "image"
    shutil.rmtree(layout, ignore_errors=True)
    (layout / "blobs/sha256").mkdir(parents=True)
    files = {p for p in root.rglob("*") if p.is_symlink() or not p.is_dir()}
    system = {p for p in files if p.is_relative_to(root / "usr/lib/cloche") and p.parent != root / "usr/lib/cloche"}
    layers = []
    # What changes least comes first.
    for fill in (lambda layer: add_base(layer, program, sysroot), lambda layer: layer.tree(root, system),
                 lambda layer: layer.tree(root, files - system)):
        layer = Layer(layout / "blobs/sha256", level)
        fill(layer)
        layers.append(layer.close())
    shutil.rmtree(root)
    write_index(layout, architecture, layers)
    target = out / f"cloche-{VERSION}-image-{architecture}.tar"
    pack(layout, target)
    print(f"{target.name}: {target.stat().st_size >> 20} MiB")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
