"""The sysroot: musl with our port laid over it, crt1.o, and the compiler's runtime library."""

import os
import pathlib
import shutil
import subprocess

import sources
from common import USERLAND, BuildError, build_once, ccache_if_built_before, content_hash, point_at, run_logged, say, tool, toolchain_id

SOURCE = {
    "kind": "debian",
    "package": "musl",
    "file": "musl_1.2.5.orig.tar.gz",
    "sha256": "a9a118bbe84d8764da0ea0d28b3ab3fae8477fc7e4085d90102b8596fc7c75e4",
    "patches": {
        "CVE-2025-26519-0001_iconv_fix_erroneous_input_validation_in_EUC_KR_decod.patch":
            "19f9e36002c9680da1dd480035dfcca6610d13d9b9e5ca1a6783bedc049b99b0",
        "CVE-2025-26519-0002_iconv_harden_UTF_8_output_code_path_against_input_de.patch":
            "70e9d5f98dae49b0b3dd180b4a0bd2f222acda3e58b9b4bf00b25b0d592339dd",
        "0001-fix-pathological-slowness-incorrect-mappings-in-icon.patch":
            "313e78e290eae305ca0fbfc384f785e60502e4c70c1166f67d7e9dda1442ae75",
        "0002-qsort-fix-leonardo-heap-corruption-from-bug-in-doubl.patch":
            "495ede3d85132d47ae50686679f6b754f4f1fe69eb5170510164d93603cdefbc",
    },
}

# Functions of <math.h> that are one instruction here.
MATH_INSTRUCTIONS = ("sqrt", "floor", "ceil", "trunc", "rint", "nearbyint", "fabs", "copysign")

CFLAGS = ("--target=wasm32-unknown-unknown -O2 -msimd128 -fno-strict-aliasing -fwrapv-pointer -fno-strict-float-cast-overflow "
          "-w -fvisibility=default -ffunction-sections -fdata-sections -mexception-handling "
          "-mllvm -wasm-enable-sjlj -mllvm -wasm-use-legacy-eh=false")


# The kernel's own interface headers (Debian's linux-libc-dev, which every C compiler there brings).
KERNEL_HEADERS = pathlib.Path("/usr/include")


def sysroot_hash():
    version = KERNEL_HEADERS / "linux" / "version.h"
    if not version.exists():
        raise BuildError("the Linux interface headers are missing: install linux-libc-dev")
    return content_hash("sysroot", toolchain_id(), SOURCE["sha256"], USERLAND / "musl-port", version,
                        pathlib.Path(__file__).resolve())


def _edit(path, *replacements):
    text = path.read_text()
    for old, new in replacements:
        if old not in text:
            raise BuildError(f"musl's {path.name} is not as the port expects it")
        text = text.replace(old, new)
    path.write_text(text)


def _word_options_as_gnu(misc):
    """What getopt says of a wrong option, in the words of GNU's C library; % stands for the option."""
    _edit(misc / "getopt.c",
          ("fwrite(b, strlen(b), 1, f)", "fwrite(b, strcspn(b, \"%\"), 1, f)"),
          ("&& putc('\\n', f);", "&& fputs(strchr(b, '%') + 1, f)>=0 && putc('\\n', f);"),
          ('": unrecognized option: "', '": invalid option -- \'%\'"'),
          ('": option requires an argument: "', '": option requires an argument -- \'%\'"'))
    _edit(misc / "getopt_long.c",
          ('": option does not take an argument: "', '": option \'--%\' doesn\'t allow an argument"'),
          ('": option requires an argument: "', '": option \'--%\' requires an argument"'),
          ('": option is ambiguous: "', '": option \'--%\' is ambiguous"'),
          ('": unrecognized option: "', '": unrecognized option \'--%\'"'))


def lay_over(tree):
    """Makes the wasm32 architecture in an unpacked musl tree."""
    port = USERLAND / "musl-port"
    arch = tree / "arch" / "wasm32"
    shutil.copytree(tree / "arch" / "riscv32", arch)
    # No floating point environment: the generic header says so.
    for gone in ("bits/fenv.h", "crt_arch.h"):
        (arch / gone).unlink()
    # size_t is unsigned long for this compiler, and C++ names functions by it.
    _edit(arch / "bits" / "alltypes.h.in", ("#define _Addr int", "#define _Addr long"))
    _edit(arch / "bits" / "signal.h", ("#define SA_RESTORER  0x04000000\n", ""))
    shutil.copytree(port / "arch", arch, dirs_exist_ok=True)
    for folder in sorted((port / "src").iterdir()):
        target = tree / "src" / folder.name
        for file in sorted(folder.iterdir()):
            into = target if file.suffix == ".h" else target / "wasm32"
            into.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, into)
    (tree / "crt" / "wasm32").mkdir()
    shutil.copy(port / "crt" / "crt1.c", tree / "crt" / "wasm32")
    for file in (port / "include").iterdir():
        shutil.copy(file, tree / "include")
    for header, last in (("setjmp.h", "cloche_setjmp.h"), ("unistd.h", "cloche_vfork.h")):
        with open(tree / "include" / header, "a") as f:
            f.write(f"\n#include <bits/{last}>\n")
    _edit(tree / "src" / "malloc" / "lite_malloc.c",
          ("static void *default_malloc(size_t n)\n{\n\treturn __libc_malloc_impl(n);",
           "hidden void *__cloche_malloc(size_t);\nstatic void *default_malloc(size_t n)\n{\n\treturn __cloche_malloc(n);"))
    # C.UTF-8 is the name of all categories, as programs see it that choose their formats and words by it; but for the order of texts,
    # which is that of the bytes: sort compares those when it is told so.
    _edit(tree / "src" / "locale" / "locale_map.c",
          ("if (cat == LC_CTYPE && val[1]=='.')", "if (cat != LC_COLLATE && val[1]=='.')"))
    # A text that has no number in it is no error of the call: programs look at errno afterwards.
    _edit(tree / "src" / "internal" / "intscan.c",
          ("\t\t\tshlim(f, 0);\n\t\t\terrno = EINVAL;\n", "\t\t\tshlim(f, 0);\n"))
    _edit(tree / "src" / "internal" / "floatscan.c",
          ("\t\terrno = EINVAL;\n", ""))
    _edit(tree / "src" / "process" / "execvp.c",
          ("int __execvpe(", "hidden int __cloche_exec(const char *, char *const *, char *const *);\n\nint __execvpe("),
          ("return execve(file, argv, envp);", "return __cloche_exec(file, argv, envp);"),
          ("\t\texecve(b, argv, envp);", "\t\t__cloche_exec(b, argv, envp);"))
    # These names have rules in the zone files, as everywhere; as a POSIX text they have none.
    _edit(tree / "src" / "time" / "__tz.c",
          ("\tif (*s != ':') {\n", "\tif (*s != ':' && strcmp(s, \"EST5EDT\") && strcmp(s, \"CST6CDT\") "
           "&& strcmp(s, \"MST7MDT\") && strcmp(s, \"PST8PDT\")) {\n"))
    _edit(tree / "include" / "stdio.h", ("#define BUFSIZ 1024", "#define BUFSIZ 8192"))
    _word_options_as_gnu(tree / "src" / "misc")
    math = tree / "src" / "math" / "wasm32"
    math.mkdir()
    for name in MATH_INSTRUCTIONS:
        for suffix, kind in (("", "double"), ("f", "float")):
            second = (f", {kind} y", ", y") if name == "copysign" else ("", "")
            (math / f"{name}{suffix}.c").write_text(
                f"#include <math.h>\n\n{kind} {name}{suffix}({kind} x{second[0]})\n{{\n"
                f"  return __builtin_{name}{suffix}(x{second[1]});\n}}\n")


def _make(tree, out, jobs, log):
    ccache = ccache_if_built_before("sysroot")
    # Relative paths in the objects: the same bytes from every scratch folder.
    (tree / "config.mak").write_text(
        f"ARCH = wasm32\nCC = {ccache + ' ' if ccache else ''}{tool('clang')}\nAR = {tool('llvm-ar')}\n"
        f"RANLIB = {tool('llvm-ranlib')}\nMALLOC_DIR = oldmalloc\nCFLAGS_AUTO =\nCFLAGS = {CFLAGS} -ffile-prefix-map={tree}=.\n"
        f"prefix = {out}\nincludedir = {out}/include\nlibdir = {out}/lib\n")
    env = dict(os.environ, MAKEFLAGS="", MAKELEVEL="")
    if ccache:
        env["CCACHE_BASEDIR"] = str(tree)
    empty = [f"lib/lib{name}.a" for name in ("m", "rt", "pthread", "crypt", "util", "xnet", "resolv", "dl")]
    run_logged(["make", f"-j{jobs}", "lib/libc.a", "lib/crt1.o", *empty], log, tree, env)
    run_logged(["make", "install-headers"], log, tree, env)
    shutil.copytree(tree / "lib", out / "lib")


def _resource_library():
    listed = subprocess.run([tool("clang"), "-print-resource-dir"], capture_output=True, text=True, check=True)
    path = pathlib.Path(listed.stdout.strip()) / "lib" / "wasi" / "libclang_rt.builtins-wasm32.a"
    if not path.exists():
        raise BuildError("the compiler's runtime for wasm32 is missing: install libclang-rt-22-dev-wasm32")
    return path


def _kernel_headers(include):
    """<linux/...> as an architecture that has nothing but the generic part, which is what the ABI is."""
    for folder in ("linux", "asm-generic"):
        shutil.copytree(KERNEL_HEADERS / folder, include / folder)
    (include / "asm").mkdir()
    for header in sorted((include / "asm-generic").glob("*.h")):
        (include / "asm" / header.name).write_text(f"#include <asm-generic/{header.name}>\n")


def build_sysroot(jobs):
    """The sysroot's folder in the cache, built when it is not there."""
    def make(scratch, log):
        archive, patches = sources.fetch(SOURCE), sources.fetch_patches(SOURCE)
        say("building musl for wasm32")
        tree, out = scratch / "musl", scratch / "out"
        out.mkdir()
        sources.unpack(archive, tree)
        sources.apply(patches, log, tree)
        lay_over(tree)
        _make(tree, out, jobs, log)
        shutil.copy(_resource_library(), out / "lib" / "libclang_rt.builtins.a")
        _kernel_headers(out / "include")

    final, _ = build_once("sysroot", sysroot_hash(), make)
    point_at("sysroot", final)  # where userland/cc looks
    return final
