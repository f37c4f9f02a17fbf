"""Rust code of packages, compiled for the interpreter as wasm_link.py wants it, and what those packages have in Python.

Beside it userland/python/rust has what is fetched (packages.toml), the crates with their hashes (crates.lock), and the one file that is
ours. Debian's Rust knows the interpreter's kind of machine, but has no standard library for it: that is compiled too, from the source
that Debian has with the compiler.
"""
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "build"))

import libraries  # noqa: E402
import musl  # noqa: E402
import package_files  # noqa: E402
import sources  # noqa: E402
from common import CRATES, BuildError, build_once, cache_root, content_hash, run_logged, say, tool, toolchain_id  # noqa: E402

HERE = Path(__file__).resolve().parent / "rust"
RECIPE = HERE / "packages.toml"
TARGET = "wasm32-wasip1"
FEATURES = ("simd128", "bulk-memory", "nontrapping-fptoint", "sign-ext")
LIBRARY = "libextensions.a"
CRYPTO = "openssl"  # of userland/libraries
# What PyO3 would ask an interpreter of the machine that builds.
INTERPRETER = """implementation=CPython
version=3.15
shared=false
abi3=false
pointer_width=32
build_flags=
suppress_build_script_link_lines=true
"""


def parts():
    """What is fetched, by its name: a version, a licence, a source, and what is taken of it."""
    return tomllib.loads(RECIPE.read_text())["part"]


def modules():
    """The name of each module, and that of the function that begins it."""
    return {name: f"PyInit_{name.rpartition('.')[2]}" for part in parts().values() for name in part["modules"]}


def _compiler():
    """(rustc, cargo), with the source of the standard library."""
    for rustc in (shutil.which("rustc"), "/usr/bin/rustc"):
        if rustc is None or not os.path.exists(rustc):
            continue
        asked = subprocess.run([rustc, "--print", "sysroot"], capture_output=True, text=True)
        if asked.returncode == 0 and (Path(asked.stdout.strip()) / "lib/rustlib/src/rust/library/std").is_dir():
            beside = Path(rustc).with_name("cargo")
            return rustc, str(beside) if beside.exists() else "cargo"
    raise BuildError("there is no Rust compiler with the source of its library: install rustc-web, cargo-web and rust-web-src")


def library():
    """The folder that has the compiled code, and the unpacked sources of each part by its name."""
    rustc, cargo = _compiler()
    sysroot = musl.build_sysroot(1)
    version = subprocess.run([rustc, "-vV"], capture_output=True, text=True, check=True).stdout
    key = content_hash("python-rust", version, toolchain_id(), sysroot.name, libraries.key(CRYPTO, sysroot), HERE, Path(__file__),
                       Path(package_files.__file__))
    final, _ = build_once("python-rust", key, lambda scratch, log: _make(scratch, rustc, cargo, sysroot, log))
    return final


def _make(scratch, rustc, cargo, sysroot, log):
    archives = {name: sources.fetch(part) for name, part in parts().items()}
    say("building the Rust code of Python packages")
    tree = scratch / "tree"
    shutil.copytree(HERE, tree)
    for name, archive in archives.items():
        sources.unpack(archive, tree / name)
        _edit(tree / name, parts()[name].get("edits", ()))
    (tree / "Cargo.lock").write_text((HERE / "crates.lock").read_text().replace('"registry"', f'"{CRATES}"'))
    crypto, _ = libraries.build(CRYPTO, sysroot)
    _compile(tree, rustc, cargo, sysroot, crypto, log)
    out = scratch / "out"
    out.mkdir()
    shutil.move(tree / "target" / TARGET / "release" / LIBRARY, out)
    licences = _licences(tree / "Cargo.lock")
    for name, part in parts().items():
        package_files.keep(tree / name, part, out / name, {"LICENSES-of-crates.txt": licences})


def _edit(folder, edits):
    for name, before, after in edits:
        content = (folder / name).read_text()
        if content.count(before) != 1:
            raise BuildError(f"{name} of {folder.name} is not as userland/python/rust/packages.toml expects: {before}")
        (folder / name).write_text(content.replace(before, after))


def _compile(tree, rustc, cargo, sysroot, crypto, log):
    settings = tree / "interpreter.cfg"
    settings.write_text(INTERPRETER)
    flags = [f"-Ctarget-feature={','.join('+' + name for name in FEATURES)}", f"--remap-path-prefix={tree}=/packages", f"--remap-path-prefix={_crates_home()}=/crates"]
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("RUST", "OPENSSL", "CARGO_BUILD", "CARGO_PROFILE", "CARGO_TARGET", "PYO3", "CC", "CFLAGS", "AR"))}
    in_c = [f"--sysroot={sysroot}", *(f"-m{name}" for name in FEATURES), "-w"]
    machine = TARGET.replace("-", "_")
    env = kept | {"RUSTC": rustc, "RUSTC_BOOTSTRAP": "1", "PYO3_CONFIG_FILE": str(settings), "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(flags),
                  "CARGO_TARGET_DIR": str(tree / "target"), "CARGO_INCREMENTAL": "0",
                  "OPENSSL_LIB_DIR": str(crypto / "lib"), "OPENSSL_INCLUDE_DIR": str(crypto / "include"), "OPENSSL_LIBS": "crypto", "OPENSSL_STATIC": "1",
                  "CRYPTOGRAPHY_BUILD_OPENSSL_NO_LEGACY": "1",
                  f"CC_{machine}": tool("clang"), f"AR_{machine}": tool("llvm-ar"), f"CFLAGS_{machine}": shlex.join(in_c)}
    return run_logged([cargo, "build", "--release", "--locked", "--target", TARGET, "-Zbuild-std=std,panic_abort"], log, tree, env)


def _crates_home():
    return Path(os.environ.get("CARGO_HOME") or os.path.expanduser("~/.cargo"))


def _licences(lock):
    """The licence files of all crates, each text once with those that have it."""
    whose = {}
    for crate in tomllib.loads(lock.read_text())["package"]:
        for folder in _crates_home().glob(f"registry/src/*/{crate['name']}-{crate['version']}") if "checksum" in crate else ():
            for file in sorted(path for path in folder.iterdir() if re.match("(LICEN[CS]E|COPYING|UNLICENSE|NOTICE)", path.name) and path.is_file()):
                whose.setdefault(file.read_text(errors="replace").strip(), {})[f"{crate['name']} {crate['version']}"] = True
    return "\n\n".join(f"{', '.join(crates)}:\n\n{text}" for text, crates in whose.items()) + "\n"


def packages():
    """The folder of each package, laid as a wheel is."""
    made = library()
    return [made / name for name in parts()]


def linked(table_base, data_base):
    """The code as a module whose functions begin at `table_base` in the table and whose data is at `data_base`."""
    made = library()
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "rust.wasm"
        run_logged([tool("wasm-ld"), "--no-entry", "--import-memory", "--import-table", f"--table-base={table_base}", f"--global-base={data_base}",
                    "-zstack-size=16", "--emit-relocs", "--import-undefined", "--unresolved-symbols=ignore-all", "--strip-debug", "--gc-sections",
                    *(f"--export={name}" for name in modules().values()), "-o", out, made / LIBRARY], cache_root() / "logs" / "python-rust.log", made)
        return out.read_bytes()
