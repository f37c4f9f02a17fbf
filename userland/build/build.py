#!/usr/bin/env python3
"""Builds the guests' userland: the sysroot for userland/cc, the ports, and the folder that the base layer is made of.

  build.py --sysroot                      only the sysroot; prints its path
  build.py --cxx                          the sysroot and the C++ library
  build.py --out DIR                      all ports, staged in DIR with a manifest.json
  build.py --out DIR --groups shell,tools --without bash
  build.py --list                         what there is

What is built is kept under ${CLOCHE_CACHE:-~/.cache/cloche}/userland by the hash of all that goes into it. Exit status: 0, or 2
with a sentence on stderr for each failure, and the end of its log.
"""

import argparse
import concurrent.futures
import os
import sys

sys.dont_write_bytecode = True

import libcxx
import musl
import ports
import stage
from common import BuildError, prune, say, tell

# Builds that other work trees or older commits may still use are kept for a while.
KEEP_DAYS = 30


def parse(arguments):
    parser = argparse.ArgumentParser(prog="build.py", description="Builds the guests' userland.")
    parser.add_argument("--sysroot", action="store_true", help="build only the sysroot and print its path")
    parser.add_argument("--cxx", action="store_true", help="build the C++ library for userland/cxx")
    parser.add_argument("--out", metavar="DIR", help="stage the ports in DIR")
    parser.add_argument("--groups", metavar="A,B", help="only the ports of these groups")
    parser.add_argument("--only", metavar="A,B", help="only these ports")
    parser.add_argument("--without", metavar="A,B", default="", help="not these ports")
    parser.add_argument("--list", action="store_true", help="list the ports")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1, help="ports at a time")
    options = parser.parse_args(arguments)
    if not (options.sysroot or options.cxx or options.out or options.list):
        parser.error("say --sysroot, --cxx, --out DIR or --list")
    return options


def chosen(options):
    every = ports.load_all()
    known = {port.name for port in every}
    only = set(filter(None, (options.only or "").split(",")))
    without = set(filter(None, options.without.split(",")))
    groups = set(filter(None, (options.groups or "").split(",")))
    for name in sorted((only | without) - known):
        raise BuildError(f"there is no port {name}: build.py --list names them")
    for group in sorted(groups - {g for port in every for g in port.groups}):
        raise BuildError(f"there is no group {group}: build.py --list names them")
    return [port for port in every if port.name not in without and (not only or port.name in only)
            and (not groups or groups & set(port.groups))]


def build_all(selected, toolchain, jobs):
    """(port, built folder) pairs. What fails keeps nothing else from being built; each failure is told, and then the build fails."""
    at_once = max(1, min(jobs, len(selected)))
    failed = []
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        futures = {pool.submit(ports.build, port, toolchain, max(1, jobs // at_once)): port for port in selected}
        for future in concurrent.futures.as_completed(futures):
            if isinstance(future.exception(), (BuildError, OSError)):
                failed.append(futures[future].name)
                tell(future.exception(), f"{futures[future].name} failed: ")
        if failed:
            raise BuildError(f"{len(failed)} of {len(selected)} ports failed: {', '.join(sorted(failed))}")
        return [(port, future.result()) for future, port in futures.items()]


def run(options):
    if options.list:
        for port in ports.load_all():
            print(f"{port.name:12} {port.version:10} {port.licence:20} {','.join(port.groups)}")
        return
    selected = chosen(options) if options.out else []
    out = stage.folder_to_stage_in(options.out) if options.out else None
    sysroot = musl.build_sysroot(options.jobs)
    os.utime(sysroot)  # in use: see prune
    if options.sysroot:
        print(sysroot)
    cxxroot = None
    if options.cxx or any(ports.needs_cxx(port) for port in selected):
        cxxroot = libcxx.build_cxxroot(sysroot, options.jobs)
    if out:
        stage.stage(build_all(selected, ports.Toolchain(sysroot, cxxroot), options.jobs), out)
        say(f"staged {len(selected)} ports in {options.out}")
        prune(KEEP_DAYS)


def main():
    try:
        run(parse(sys.argv[1:]))
    except (BuildError, OSError) as error:
        tell(error)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
