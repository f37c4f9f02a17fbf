"""The C++ library for guests: libc++, libc++abi and what libunwind has for wasm, built against our sysroot."""

import concurrent.futures
import os
import pathlib
import shutil
import zipfile

import sources
from common import (USERLAND, BuildError, build_once, ccache_if_built_before, content_hash, point_at, run_logged, say, tool,
                    toolchain_id)

# The wheel carries LLVM's runtime sources of the very release of our compiler.
SOURCE = {
    "kind": "pypi",
    "package": "ziglang",
    "version": "0.17.1",
    "platform": "manylinux_2_12_x86_64",
    "file": "ziglang-0.17.1-py3-none-manylinux_2_12_x86_64.manylinux2010_x86_64.musllinux_1_1_x86_64.whl",
    "sha256": "ea6cc5d87b033cf0aedfbc8f9549a908cae6c50ac31f1698188fa48a74524b54",
}

# What LLVM's own build would write into __config_site for Linux with musl.
CONFIG_SITE = {
    "_LIBCPP_ABI_VERSION": "1", "_LIBCPP_ABI_NAMESPACE": "__1", "_LIBCPP_ABI_FORCE_ITANIUM": "0",
    "_LIBCPP_ABI_FORCE_MICROSOFT": "0", "_LIBCPP_HAS_THREADS": "1", "_LIBCPP_HAS_MONOTONIC_CLOCK": "1",
    "_LIBCPP_HAS_TERMINAL": "1", "_LIBCPP_HAS_MUSL_LIBC": "1", "_LIBCPP_HAS_THREAD_API_PTHREAD": "1",
    "_LIBCPP_HAS_THREAD_API_EXTERNAL": "0", "_LIBCPP_HAS_THREAD_API_WIN32": "0", "_LIBCPP_HAS_THREAD_API_C11": "0",
    "_LIBCPP_HAS_VENDOR_AVAILABILITY_ANNOTATIONS": "0", "_LIBCPP_HAS_FILESYSTEM": "1",
    "_LIBCPP_HAS_RANDOM_DEVICE": "1", "_LIBCPP_HAS_LOCALIZATION": "1", "_LIBCPP_HAS_UNICODE": "1",
    "_LIBCPP_HAS_WIDE_CHARACTERS": "1", "_LIBCPP_HAS_NO_STD_MODULES": "1", "_LIBCPP_HAS_TIME_ZONE_DATABASE": "0",
    "_LIBCPP_INSTRUMENTED_WITH_ASAN": "0", "_LIBCPP_PSTL_BACKEND_SERIAL": "1", "_LIBCPP_HARDENING_MODE_DEFAULT": "2",
    "_LIBCPP_ASSERTION_SEMANTIC_DEFAULT": "_LIBCPP_ASSERTION_SEMANTIC_HARDENING_DEPENDENT",
    "_LIBCPP_LIBC_NEWLIB": "0",
}

# Not for this target, or made of others' parts.
LEFT_OUT = ("libdispatch.cpp", "int128_builtins.cpp", "cxa_noexception.cpp", "new.cpp", "tzdb.cpp", "tzdb_list.cpp",
            "time_zone.cpp", "chrono_exception.cpp", "locale_win32.cpp", "support.cpp", "thread_win32.cpp")

TAG = pathlib.Path(__file__).resolve().with_name("cpp_exception.s")
MAIN = pathlib.Path(__file__).resolve().with_name("cxx_main.cc")

FLAGS = ("-O2", "-DNDEBUG", "-w", "-fvisibility=hidden", "-fvisibility-inlines-hidden", "-ffunction-sections",
         "-fdata-sections", "-D_GNU_SOURCE", "-D_LIBCPP_DISABLE_VISIBILITY_ANNOTATIONS",
         "-D_LIBCXXABI_DISABLE_VISIBILITY_ANNOTATIONS", "-DLIBC_NAMESPACE=__llvm_libc_common_utils")

LIBRARIES = {
    "libc++": ("libcxx/src", "-std=c++23", "-D_LIBCPP_BUILDING_LIBRARY", "-DLIBCXX_BUILDING_LIBCXXABI",
               "-Ilibcxx/src", "-Ilibcxx/libc", "-Ilibcxxabi/include"),
    "libc++abi": ("libcxxabi/src", "-std=c++23", "-D_LIBCXXABI_BUILDING_LIBRARY", "-D_LIBCPP_BUILDING_LIBRARY",
                  "-DHAVE___CXA_THREAD_ATEXIT_IMPL=0", "-Ilibcxxabi/include", "-Ilibcxx/src", "-Ilibunwind/include"),
    "libunwind": ("libunwind/src", "-Ilibunwind/include", "-D_LIBUNWIND_HIDE_SYMBOLS"),
}


def _headers(tree, out):
    include = out / "include" / "c++" / "v1"
    include.parent.mkdir(parents=True)
    shutil.copytree(tree / "libcxx" / "include", include)
    for header in ("cxxabi.h", "__cxxabi_config.h"):
        shutil.copy(tree / "libcxxabi" / "include" / header, include)
    for header in ("unwind.h", "unwind_itanium.h", "__libunwind_config.h"):
        shutil.copy(tree / "libunwind" / "include" / header, include)
    lines = [f"#define {name} {value}" for name, value in CONFIG_SITE.items()]
    (include / "__config_site").write_text("#pragma GCC system_header\n" + "\n".join(lines) + "\n")
    config = include / "__config"
    text = config.read_text()
    first = "#include <__configuration/abi.h>\n"
    if first not in text:
        raise BuildError("libc++'s __config is not as the port expects it")
    config.write_text(text.replace(first, "#include <__config_site>\n" + first, 1))


def _units(tree, folder):
    if folder == "libunwind/src":
        shutil.copy(TAG, tree / folder)
        return [tree / folder / "Unwind-wasm.c", tree / folder / TAG.name]
    if folder == "libcxxabi/src":
        shutil.copy(MAIN, tree / folder / "cxx_main.cpp")
    return sorted(path for path in (tree / folder).rglob("*.cpp") if path.name not in LEFT_OUT)


def _compile(tree, out, name, server, log, env):
    folder, *flags = LIBRARIES[name]
    objects = tree / "objects" / name
    objects.mkdir(parents=True)

    def one(path):
        target = objects / (str(path.relative_to(tree)).replace("/", "_") + ".o")
        compiler = USERLAND / ("cxx" if path.suffix == ".cpp" else "cc")
        extra = ["-fwasm-exceptions"] if path.suffix == ".c" else []
        with server.token():
            run_logged([compiler, *FLAGS, *flags, *extra, "-c", path.relative_to(tree), "-o", target], log, tree, env)
        return target

    with concurrent.futures.ThreadPoolExecutor(server.jobs) as pool:
        made = list(pool.map(one, _units(tree, folder)))
    run_logged([tool("llvm-ar"), "rcsD", out / "lib" / f"{name}.a", *made], log, tree)


def _unpack(archive, tree):
    with zipfile.ZipFile(archive) as wheel:
        for info in wheel.infolist():
            parts = pathlib.PurePosixPath(info.filename).parts
            if parts[:2] == ("ziglang", "lib") and len(parts) > 3 and parts[2] in ("libcxx", "libcxxabi", "libunwind"):
                target = tree.joinpath(*parts[2:])
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(wheel.read(info))


def build_cxxroot(sysroot, server):
    """The folder of the C++ headers and libraries in the cache, built when it is not there, with a token of the job server for each
    compiler."""
    key = content_hash("cxx", toolchain_id(), sysroot.name, SOURCE["sha256"], TAG, MAIN, pathlib.Path(__file__).resolve())

    def make(scratch, log):
        archive = sources.fetch(SOURCE)
        say("building libc++ for wasm32")
        tree, out = scratch / "src", scratch / "out"
        (out / "lib").mkdir(parents=True)
        _unpack(archive, tree)
        _headers(tree, out)
        (scratch / "sysroot").symlink_to(sysroot)
        env = dict(os.environ, CLOCHE_SYSROOT=str(scratch / "sysroot"), CLOCHE_CXXROOT=str(out),
                   CLOCHE_CCACHE=ccache_if_built_before("cxxroot"))
        for name in LIBRARIES:
            _compile(tree, out, name, server, log, env)

    final, _ = build_once("cxxroot", key, make)
    point_at("cxxroot", final)
    return final
