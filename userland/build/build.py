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
import pathlib
import sys
import tomllib

sys.dont_write_bytecode = True

import libcxx
import musl
import ports
import stage
from common import BuildError, prune, say, tell
from jobs import JobServer

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
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1, help="jobs at a time, over all ports together")
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


def costs():
    """About how many seconds of CPU each port takes: the long ones go first, and what is done is told as a share of all."""
    return tomllib.loads(pathlib.Path(__file__).resolve().with_name("costs.toml").read_text())


def build_all(selected, toolchain, server):
    """(port, built folder) pairs. What fails keeps nothing else from being built; each failure is told, and then the build fails."""
    cost = costs()
    selected = sorted(selected, key=lambda port: -cost.get(port.name, cost["another"]))
    missing = [port for port in selected if not ports.is_built(port, toolchain)]
    left = sum(cost.get(port.name, cost["another"]) for port in missing)
    work, done, failed, built = left, 0, [], []
    if missing:
        say(f"{len(missing)} ports to build, about {work / 60:.0f} minutes of CPU")
    # More threads than tokens: who waits for an archive keeps nobody from computing.
    with concurrent.futures.ThreadPoolExecutor(server.jobs + 2) as pool:
        futures = {pool.submit(ports.build, port, toolchain, server): port for port in selected}
        for future in concurrent.futures.as_completed(futures):
            port = futures[future]
            if isinstance(future.exception(), (BuildError, OSError)):
                failed.append(port.name)
                tell(future.exception(), f"{port.name} failed: ")
                continue
            folder, cpu_s = future.result()
            built.append((port, folder))
            if port in missing:
                done += 1
                left -= cost.get(port.name, cost["another"])
                say(f"built {port.name} {port.version}, {cpu_s:.0f} s of CPU: {done} of {len(missing)} ports, "
                    f"{100 - 100 * left / work:.0f} % of the work")
    if failed:
        raise BuildError(f"{len(failed)} of {len(selected)} ports failed: {', '.join(sorted(failed))}")
    return built


def build_everything(selected, options, out, server):
    """The sysroot, then the C++ library beside the ports, or before them where one needs it."""
    sysroot = musl.build_sysroot(options.jobs)
    os.utime(sysroot)  # in use: see prune
    if options.sysroot:
        print(sysroot)
    with concurrent.futures.ThreadPoolExecutor(1) as beside:
        cxx_first = any(ports.needs_cxx(port) for port in selected)
        cxx = beside.submit(libcxx.build_cxxroot, sysroot, server) if options.cxx or cxx_first else None
        if out:
            toolchain = ports.Toolchain(sysroot, cxx.result() if cxx_first else None)
            built = build_all(selected, toolchain, server)
            if stage.stage(built, out):
                say(f"staged {len(selected)} ports in {options.out}")
            prune(KEEP_DAYS)
        if cxx:
            cxx.result()


def run(options):
    if options.list:
        for port in ports.load_all():
            print(f"{port.name:12} {port.version:10} {port.licence:20} {','.join(port.groups)}")
        return
    selected = chosen(options) if options.out else []
    out = stage.folder_to_stage_in(options.out) if options.out else None
    server = JobServer(options.jobs)
    try:
        build_everything(selected, options, out, server)
    finally:
        server.close()


def main():
    try:
        run(parse(sys.argv[1:]))
    except (BuildError, OSError) as error:
        tell(error)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
