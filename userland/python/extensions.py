"""Extension modules that the interpreter's wheel lacks, compiled, as wasm_link.py wants them.

Beside it userland/python/extensions has the sources that are ours, what is fetched, and the edits of that.
"""
import os
import shlex
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "build"))

import libraries  # noqa: E402
import musl  # noqa: E402
import package_files  # noqa: E402
import recipes  # noqa: E402
import sources  # noqa: E402
from common import (BuildError, build_once, ccache_if_built_before, content_hash, run_logged, say, tell, tool, toolchain_id)  # noqa: E402, F401

HERE = Path(__file__).resolve().parent / "extensions"
RECIPE = HERE / "extensions.toml"
# Modules by their names; PyInit_... begins each. Those of packages are in extensions.toml.
MODULES = ("_casts", "_curses", "_curses_panel", "_decimal", "_floats", "_scrypt", "_waits", "_zstd")
# Which the interpreter's own code calls.
FUNCTIONS = """cloche_before_attach cloche_before_line cloche_before_lock cloche_before_product cloche_before_read cloche_before_ufunc
cloche_database_lock cloche_database_reserved cloche_database_unlock cloche_dot cloche_loop cloche_number cloche_open cloche_product
cloche_reader cloche_thread cloche_write""".split()
FUNCTIONS += [f"cloche_{operation}_at_{kind}" for operation in ("add", "subtract", "multiply", "divide") for kind in ("double", "float")]
# Loops of numpy's that indices_patch.py replaces, and those of `ufunc.at`.
INDEX_LOOPS = {"LONG": "add subtract multiply power left_shift lcm gcd square negative absolute".split(),
               "ULONG": "add subtract multiply power left_shift lcm gcd square negative invert".split()}
INDEX_AT = "add subtract multiply".split()
FUNCTIONS += [f"cloche_{kind}_{name}" for kind, names in INDEX_LOOPS.items() for name in names]
FUNCTIONS += [f"cloche_{kind}_{name}_indexed" for kind in INDEX_LOOPS for name in INDEX_AT]
FUNCTIONS += """cloche_at cloche_before_at cloche_before_promotion cloche_index_set cloche_indices_left cloche_long_fill cloche_long_fromstr cloche_made_sums cloche_type_of_sums
cloche_viewed cloche_wide_class cloche_wide_indices""".split()
FUNCTIONS += """cloche_before_repeat cloche_bits_of_line cloche_bytes_between cloche_bytes_of_line cloche_line_is_too_long cloche_place_in_axis
cloche_size""".split()
FLAGS = ["--target=wasm32-unknown-unknown", "-O3", "-DNDEBUG", "-fwrapv", "-fvisibility=hidden", "-ffunction-sections", "-fdata-sections",
         "-msimd128", "-mbulk-memory", "-mnontrapping-fptoint", "-msign-ext", "-w"]
PYTHON = ["-IInclude", "-IInclude/internal", f"-I{HERE}", "-DPy_BUILD_CORE_MODULE"]
DECIMAL = ["-DCONFIG_32", "-DANSI", "-IModules/_decimal/libmpdec", f"-I{HERE}"]
MPDECIMAL = """basearith constants context convolute crt difradix2 fnt fourstep io mpalloc mpdecimal numbertheory sixstep
transpose""".split()
ZSTD = "../zstd/src/c"
ZSTD_OPTIONS = ["-DZSTD_DISABLE_ASM", f"-I{ZSTD}/zstd/lib", f"-I{ZSTD}/zstd/lib/common", f"-I{ZSTD}/zstd/lib/dictBuilder"]
# What packages bring is compiled as any extension module is.
PUBLIC = ["-IInclude", f"-I{HERE}"]
XXHASH = "../xxhash"
XXHASH_OPTIONS = [f"-I{XXHASH}/deps/xxhash", "-U__wasm_simd128__"]  # it takes vectors for those of ARM then
ZSTANDARD = "../zstandard/c-ext"
ZSTANDARD_OPTIONS = [f"-I{ZSTANDARD}", "-include", str(HERE / "workers.h")]
SODIUM = "../libsodium/src/libsodium"
SODIUM_OPTIONS = [f"-I{SODIUM}/include/sodium", f"-I{SODIUM}/include", f"-I{SODIUM}", "-DCONFIGURED=1", "-DNATIVE_LITTLE_ENDIAN=1"]
SODIUM_FILES = """crypto_pwhash/scryptsalsa208sha256/nosse/pwhash_scryptsalsa208sha256_nosse crypto_pwhash/scryptsalsa208sha256/pbkdf2-sha256
crypto_pwhash/scryptsalsa208sha256/scrypt_platform crypto_auth/hmacsha256/auth_hmacsha256 crypto_hash/sha256/cp/hash_sha256_cp""".split()

CURSES = "ncurses"  # of userland/libraries
NCURSES = "../ncurses"
CURSES_OPTIONS = ["-include", str(HERE / "terminal.h"), f"-I{NCURSES}/include", f"-I{NCURSES}/panel", *(f"-DHAVE_{name}=1" for name in """
NCURSESW CURSES_H PANEL_H TERM_H CURSES_FILTER CURSES_HAS_KEY CURSES_IMMEDOK CURSES_IS_PAD CURSES_IS_TERM_RESIZED CURSES_RESIZETERM
CURSES_RESIZE_TERM CURSES_SYNCOK CURSES_TYPEAHEAD CURSES_USE_ENV CURSES_WCHGAT""".split())]
NCURSES_CONFIGURE = """--with-build-cc=cc --prefix=/usr --datadir=/usr/share --enable-widec --disable-db-install --without-cxx --without-cxx-binding
--without-ada --without-debug --without-manpages --without-tests --without-progs --disable-home-terminfo
--with-default-terminfo-dir=/usr/share/terminfo --without-menu --without-form --disable-stripping --without-dlsym""".split()
# Of our own C library: what the interpreter's has not, and what asks nothing of the system.
LIBC_MEMBERS = "cfgetospeed iswprint iswalpha iswpunct wcwidth tsearch tfind tdelete twalk".split()


def parts():
    """What is fetched, by its name: a version, a licence and a source."""
    return tomllib.loads(RECIPE.read_text())["part"]


def modules():
    """The name of each module, and that of the function that begins it."""
    names = [*MODULES, *(name for part in parts().values() for name in part.get("modules", ()))]
    return {name: f"PyInit_{name.rpartition('.')[2]}" for name in names}


def _units(tree):
    """(source, options) of everything that is compiled, seen from the unpacked CPython."""
    yield HERE / "support.c", PYTHON
    yield "Modules/_decimal/_decimal.c", PYTHON + DECIMAL
    for name in MPDECIMAL:
        yield f"Modules/_decimal/libmpdec/{name}.c", DECIMAL
    yield HERE / "waits.c", PYTHON
    yield HERE / "databases.c", PYTHON
    yield HERE / "casts.c", PYTHON
    yield HERE / "floats.c", PYTHON
    yield HERE / "products.c", PYTHON
    yield HERE / "orders.c", PYTHON
    for name in ("indices", "index_casts", "index_loops", "sizes"):
        yield HERE / f"{name}.c", PYTHON
    yield HERE / "scrypt.c", PYTHON + SODIUM_OPTIONS
    for name in SODIUM_FILES:
        yield f"{SODIUM}/{name}.c", SODIUM_OPTIONS
    for name in ("compat", "compression_zstd"):
        for source in sorted((tree / ZSTD / name).glob("*.c")):
            yield source, [*PYTHON, *ZSTD_OPTIONS, *(f"-I{ZSTD}/{part}" for part in ("compat", "compression_zstd", "pythoncapi-compat"))]
    for name in ("common", "compress", "decompress", "dictBuilder"):
        for source in sorted((tree / ZSTD / "zstd/lib" / name).glob("*.c")):
            yield source, ZSTD_OPTIONS
    yield f"{XXHASH}/src/_xxhash.c", PUBLIC + XXHASH_OPTIONS
    yield f"{XXHASH}/deps/xxhash/xxhash.c", XXHASH_OPTIONS
    yield f"{ZSTANDARD}/backend_c.c", PUBLIC + ZSTD_OPTIONS + ZSTANDARD_OPTIONS
    yield HERE / "terminal.c", PYTHON
    for name in ("_cursesmodule", "_curses_panel"):
        yield f"Modules/{name}.c", PYTHON + CURSES_OPTIONS


def linked(table_base, data_base):
    """The code as a module whose functions begin at `table_base` in the table and whose data is at `data_base`."""
    sysroot = musl.build_sysroot(1)
    curses = _curses(sysroot)
    key = content_hash("python-extensions", toolchain_id(), sysroot.name, curses.name, HERE, Path(__file__), table_base, data_base)

    def make(scratch, log):
        archives = {name: sources.fetch(part) for name, part in parts().items()}
        say("building the interpreter's extensions")
        for name, archive in archives.items():
            sources.unpack(archive, scratch / name)
        (scratch / "ncurses").symlink_to(curses)
        tree, out = scratch / "cpython", scratch / "out"
        out.mkdir()
        run_logged([sys.executable, "-B", HERE / "edit.py"], log, tree)
        _compile(tree, sysroot, table_base, data_base, log, out / "extensions.wasm")

    final, _ = build_once("python-extensions", key, make)
    return (final / "extensions.wasm").read_bytes()


def packages():
    """The folder of each package whose code is here, laid as a wheel is."""
    named = {name: part for name, part in parts().items() if "modules" in part}

    def make(scratch, _):
        for name, part in named.items():
            tree = scratch / "sources" / name
            sources.unpack(sources.fetch(part), tree)
            package_files.keep(tree, part, scratch / "out" / name, {file: (tree / path).read_text() for file, path in part["licences"].items()})

    key = content_hash("python-c-packages", RECIPE, Path(__file__), Path(package_files.__file__))
    final, _ = build_once("python-c-packages", key, make)
    return [final / name for name in named]


def _curses(sysroot):
    """The folder that has ncurses, compiled as the interpreter is, without descriptions of terminals: those are in the system's
    /usr/share/terminfo."""
    def make(scratch, log):
        say("building the interpreter's curses")
        recipes.unpack(libraries.load(CURSES).source, scratch / "tree", log)
        _make_curses(scratch / "tree", recipes.environment("python-curses", sysroot, scratch, f" -j{os.cpu_count()}"), sysroot, log)
        os.rename(scratch / "tree", scratch / "out")  # which is empty

    key = content_hash("python-curses", toolchain_id(), sysroot.name, Path(__file__), HERE / "terminal.h", *libraries.inputs(CURSES))
    final, _ = build_once("python-curses", key, make)
    return final


def _make_curses(tree, env, sysroot, log):
    """include/, panel/, libncursesw.a and libpanelw.a."""
    env |= {"CFLAGS": "-O2 -w", "cf_cv_working_poll": "yes", "PKG_CONFIG_LIBDIR": "/nonexistent"}
    machine = "x86_64-pc-linux-gnu"  # any that is another than the guests'
    run_logged(["./configure", f"--host={recipes.HOST_TRIPLE}", f"--build={machine}", *NCURSES_CONFIGURE], log, tree, env)
    compiler = shlex.join(map(str, [tool("clang"), *FLAGS, f"--sysroot={sysroot}", "-D__linux__=1", "-D__unix__=1", "-include", HERE / "terminal.h"]))
    run_logged(["make", "-C", "include"], log, tree, env)
    for part in ("ncurses", "panel"):
        run_logged(["make", "-C", part, f"CC={compiler}", "CFLAGS=", "libs"], log, tree, env)


def _compile(tree, sysroot, table_base, data_base, log, out):
    compiler = [*filter(None, [ccache_if_built_before("python-extensions")]), tool("clang"), *FLAGS, f"--sysroot={sysroot}", "-include", HERE / "interpreter.h"]

    def compiled(number, source, options):
        made = f"{number}-{Path(source).stem}.o"
        run_logged([*compiler, *options, "-c", source, "-o", made], log, tree)
        return made

    with ThreadPoolExecutor(os.cpu_count()) as beside:
        objects = [*beside.map(compiled, *zip(*((number, *unit) for number, unit in enumerate(_units(tree)))))]
    run_logged([tool("llvm-ar"), "x", sysroot / "lib" / "libc.a", *(f"{name}.o" for name in LIBC_MEMBERS)], log, tree)
    objects += [f"{name}.o" for name in LIBC_MEMBERS]
    objects += [f"{NCURSES}/lib/libncursesw.a", f"{NCURSES}/lib/libpanelw.a"]
    run_logged([tool("wasm-ld"), "--no-entry", "--import-memory", "--import-table", f"--table-base={table_base}", f"--global-base={data_base}",
                "-zstack-size=16", "--emit-relocs", "--import-undefined", "--unresolved-symbols=ignore-all", "--strip-debug",
                *(f"--export={name}" for name in (*FUNCTIONS, *modules().values())), "-o", out, *objects], log, tree)
