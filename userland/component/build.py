#!/usr/bin/env python3
"""Makes the world of wit/ as a component, and what its test needs.

    userland/component/build.py OUT LIBWASMTIME

    OUT/sandbox.wasm      the component: CPython by componentize-py, with the library of our sessions (lib/ here over
                          userland/python/lib/_cloche)
    OUT/sandbox.cwasm     the same, compiled by that libwasmtime
    OUT/component_host    a test's host over the crate wasmtime (tests/component), where there is a Rust compiler
    OUT/eryx_host         another over the crate eryx, whose world it is (tests/component/eryx)

Exit 2 with one sentence when something cannot be had. docs/component.md tells the rest.
"""
import ctypes
import os
import platform
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "build"))
from common import CRATES, BuildError, tool  # noqa: E402

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# Of our own runtime: they serve here too.
SHARED = ("programs/main_module", "sessions/by_value", "sessions/callbacks", "sessions/execution", "sessions/snapshot", "sessions/source", "sessions/tracing")
TOOL = "componentize-py==0.25.1"
WHEELS = {  # SHA-256 by machine
    "x86_64": "8623cd8cab8453cb0cd8bf03f3c7103420d06f2f3d360186a280a70a1ca5e89f",
    "aarch64": "7b6a87c520358166843af0daa86d2312d7af4cbcbbf1e598951085cf7f2991ca",
}


class Failure(Exception):
    """What the user reads."""


def run(what: str, command: list, **options) -> None:
    done = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False, **options)
    if done.returncode != 0:
        raise Failure(f"{what} failed:\n{done.stdout.strip()}")


def componentize(out: Path) -> Path:
    """The folder that componentize-py is imported from."""
    folder = out / "tool"
    if not (folder / "whole").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        digest = WHEELS.get(platform.machine())
        if digest is None:
            raise Failure(f"componentize-py has no build for {platform.machine()}")
        (folder / "requirements.txt").write_text(f"{TOOL} --hash=sha256:{digest}\n")
        run("the download of componentize-py", [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes",
                                                "--only-binary=:all:", "--dest", folder, "-r", folder / "requirements.txt"])
        for wheel in folder.glob("*.whl"):
            zipfile.ZipFile(wheel).extractall(folder)
            wheel.unlink()
        (folder / "whole").touch()
    return folder


def stage(out: Path) -> Path:
    folder = out / "stage"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(HERE / "lib", folder / "lib", ignore=shutil.ignore_patterns("__pycache__"))
    for name in SHARED:
        shutil.copy(ROOT / f"userland/python/lib/_cloche/{name}.py", folder / f"lib/_cloche/{name}.py")
    shutil.copy(ROOT / "userland/python/lib/ssl.py", folder / "lib/_cloche/sockets/tls.py")  # it asks the socket for TLS, here too
    shutil.copytree(ROOT / "wit", folder / "wit")
    object_file = folder / "waitables.o"
    run("the compilation of waitables.c", [tool("clang"), "--target=wasm32-unknown-unknown", "-O2", "-fPIC", "-nostdlib", "-c",
                                           HERE / "waitables.c", "-o", object_file])
    run("the link of waitables.c", [tool("wasm-ld"), "--experimental-pic", "-shared", "--no-entry", "--unresolved-symbols=import-dynamic",
                                    object_file, "-o", folder / "lib/_waitables.cpython-314-wasm32-wasi.so"])
    return folder


def compile_component(source: Path, target: Path, library: str) -> None:
    """As `wasmtime compile` does, with the library that Cloche runs on."""
    wasmtime = ctypes.CDLL(library)
    for name in ("wasm_config_new", "wasm_engine_new_with_config", "wasmtime_component_new", "wasmtime_component_serialize"):
        getattr(wasmtime, name).restype = ctypes.c_void_p
    config = ctypes.c_void_p(wasmtime.wasm_config_new())
    wasmtime.wasmtime_config_wasm_component_model_set(config, True)
    wasmtime.wasmtime_config_wasm_component_model_async_set(config, True)
    engine = ctypes.c_void_p(wasmtime.wasm_engine_new_with_config(config))
    data, component = source.read_bytes(), ctypes.c_void_p()
    error = wasmtime.wasmtime_component_new(engine, data, ctypes.c_size_t(len(data)), ctypes.byref(component))
    if error:
        raise Failure(f"wasmtime does not take {source}")

    class Bytes(ctypes.Structure):
        _fields_ = [("size", ctypes.c_size_t), ("data", ctypes.c_void_p)]

    code = Bytes()
    if wasmtime.wasmtime_component_serialize(component, ctypes.byref(code)):
        raise Failure("wasmtime has compiled the component, but cannot serialize it")
    target.write_bytes(ctypes.string_at(code.data, code.size))


def build_host(out: Path, name: str, source: Path) -> None:
    folder = out / name.replace("_host", "")
    shutil.copytree(source, folder, dirs_exist_ok=True, copy_function=shutil.copyfile)  # newer than what was made of others
    lock = (folder / "crates.lock").read_text().replace('"registry"', f'"{CRATES}"')
    (folder / "Cargo.lock").write_text(lock)
    # wasmtime's crate names a later compiler than it needs.
    run(f"the build of {name}", ["cargo", "build", "--quiet", "--locked", "--ignore-rust-version",
                                 "--manifest-path", folder / "Cargo.toml", "--target-dir", out / "cargo"])
    shutil.copy(out / "cargo/debug" / name, out / name)


def build_hosts(out: Path) -> None:
    if shutil.which("cargo") is None or shutil.which("rustc") is None:
        print("There is no Rust compiler (rustc, cargo): the component is made, its tests are not.")
        return
    tests = ROOT / "tests/component"
    build_host(out, "component_host", tests)
    try:
        build_host(out, "eryx_host", tests / "eryx")
    except Failure as failure:
        (out / "eryx_host").unlink(missing_ok=True)
        print(f"The test in the crate eryx is left out, as its host is not to be had here: {failure}")


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__)
        return 2
    out = Path(sys.argv[1]).resolve()
    try:
        library, staged = componentize(out), stage(out)
        made = out / "sandbox.wasm.new"
        run("componentize-py", [sys.executable, "-c", "import sys, componentize_py; sys.exit(componentize_py.script())",
                                "-d", staged / "wit", "-w", "sandbox", "componentize", "-p", staged / "lib", "sandbox_app",
                                "-o", made], cwd=staged / "lib", env={**os.environ, "PYTHONPATH": str(library)})
        compile_component(made, out / "sandbox.cwasm", sys.argv[2])
        made.replace(out / "sandbox.wasm")
        build_hosts(out)
    except (Failure, BuildError) as failure:
        print(f"component: {failure}", file=sys.stderr)
        return 2
    print(f"{out}/sandbox.wasm")
    return 0


if __name__ == "__main__":
    sys.exit(main())
