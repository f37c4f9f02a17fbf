"""Extension modules that the interpreter's wheel lacks, compiled, as wasm_link.py wants them.

Beside it userland/python/extensions has the sources that are ours, what is fetched, and the edits of that.
"""
import sys
import tomllib
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "build"))

import musl  # noqa: E402
import sources  # noqa: E402
from common import (BuildError, cache_root, content_hash, install_folder, locked, run_logged, say, scratch_folder, tell, tool,  # noqa: E402, F401
                    toolchain_id)

HERE = Path(__file__).resolve().parent / "extensions"
RECIPE = HERE / "extensions.toml"
# Modules by their names; PyInit_... begins each.
MODULES = ("_decimal", "_scrypt", "_zstd")
FLAGS = ["--target=wasm32-unknown-unknown", "-O3", "-DNDEBUG", "-fwrapv", "-fvisibility=hidden", "-ffunction-sections", "-fdata-sections",
         "-msimd128", "-mbulk-memory", "-mnontrapping-fptoint", "-msign-ext", "-w"]
PYTHON = ["-IInclude", "-IInclude/internal", f"-I{HERE}", "-DPy_BUILD_CORE_MODULE"]
DECIMAL = ["-DCONFIG_32", "-DANSI", "-IModules/_decimal/libmpdec", f"-I{HERE}"]
MPDECIMAL = """basearith constants context convolute crt difradix2 fnt fourstep io mpalloc mpdecimal numbertheory sixstep
transpose""".split()
ZSTD = "../zstd/src/c"
ZSTD_OPTIONS = ["-DZSTD_DISABLE_ASM", f"-I{ZSTD}/zstd/lib", f"-I{ZSTD}/zstd/lib/common", f"-I{ZSTD}/zstd/lib/dictBuilder"]
SODIUM = "../libsodium/src/libsodium"
SODIUM_OPTIONS = [f"-I{SODIUM}/include/sodium", f"-I{SODIUM}/include", f"-I{SODIUM}", "-DCONFIGURED=1", "-DNATIVE_LITTLE_ENDIAN=1"]
SODIUM_FILES = """crypto_pwhash/scryptsalsa208sha256/nosse/pwhash_scryptsalsa208sha256_nosse crypto_pwhash/scryptsalsa208sha256/pbkdf2-sha256
crypto_pwhash/scryptsalsa208sha256/scrypt_platform crypto_auth/hmacsha256/auth_hmacsha256 crypto_hash/sha256/cp/hash_sha256_cp""".split()


def parts():
    """What is fetched, by its name: a version, a licence and a source."""
    return tomllib.loads(RECIPE.read_text())["part"]


def _units(tree):
    """(source, options) of everything that is compiled, seen from the unpacked CPython."""
    yield HERE / "support.c", PYTHON
    yield "Modules/_decimal/_decimal.c", PYTHON + DECIMAL
    for name in MPDECIMAL:
        yield f"Modules/_decimal/libmpdec/{name}.c", DECIMAL
    yield HERE / "scrypt.c", PYTHON + SODIUM_OPTIONS
    for name in SODIUM_FILES:
        yield f"{SODIUM}/{name}.c", SODIUM_OPTIONS
    for name in ("compat", "compression_zstd"):
        for source in sorted((tree / ZSTD / name).glob("*.c")):
            yield source, [*PYTHON, *ZSTD_OPTIONS, *(f"-I{ZSTD}/{part}" for part in ("compat", "compression_zstd", "pythoncapi-compat"))]
    for name in ("common", "compress", "decompress", "dictBuilder"):
        for source in sorted((tree / ZSTD / "zstd/lib" / name).glob("*.c")):
            yield source, ZSTD_OPTIONS


def linked(table_base, data_base):
    """The code as a module whose functions begin at `table_base` in the table and whose data is at `data_base`."""
    sysroot = musl.build_sysroot(1)
    key = content_hash("python-extensions", toolchain_id(), sysroot.name, HERE, Path(__file__), table_base, data_base)
    final = cache_root() / f"python-extensions-{key}"
    with locked(cache_root() / "locks" / "python-extensions"):
        if not final.exists():
            archives = {name: sources.fetch(part) for name, part in parts().items()}
            say("building the interpreter's extensions")
            log = cache_root() / "logs" / "python-extensions.log"
            log.parent.mkdir(parents=True, exist_ok=True)
            log.write_bytes(b"")
            with scratch_folder("python-extensions") as scratch:
                for name, archive in archives.items():
                    sources.unpack(archive, scratch / name)
                tree, out = scratch / "cpython", scratch / "out"
                out.mkdir()
                run_logged([sys.executable, "-B", HERE / "edit.py"], log, tree)
                _compile(tree, sysroot, table_base, data_base, log, out / "extensions.wasm")
                install_folder(out, final)
    return (final / "extensions.wasm").read_bytes()


def _compile(tree, sysroot, table_base, data_base, log, out):
    objects = []
    for number, (source, options) in enumerate(_units(tree)):
        objects.append(f"{number}-{Path(source).stem}.o")
        run_logged([tool("clang"), *FLAGS, f"--sysroot={sysroot}", "-include", HERE / "interpreter.h", *options, "-c", source, "-o", objects[-1]],
                   log, tree)
    run_logged([tool("wasm-ld"), "--no-entry", "--import-memory", "--import-table", f"--table-base={table_base}", f"--global-base={data_base}",
                "-zstack-size=16", "--emit-relocs", "--import-undefined", "--unresolved-symbols=ignore-all", "--strip-debug",
                *(f"--export=PyInit_{name}" for name in MODULES), "-o", out, *objects], log, tree)
