#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of the crate eryx itself with our component as its runtime, and holds the failures against a list.

    crate_tests.py FOLDER [FILTER...]

FOLDER is where `make component` has put sandbox.wasm and the host over the crate, which has the crate fetched. A test that fails must
be in crate_expected.toml, under a reason; one that is there and passes must leave it. FILTER is what libtest takes.
Exit 0 where the two agree; 1 where they do not, with what to change; 2 where the tests could not be run.
"""
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))

from expectations import expected, judge  # noqa: E402

CRATE = "eryx"
FEATURES = "embedded,macros,vfs"  # preinit starts an interpreter while a runtime is made: ours is made already
# Quick to build, and as quick to run: what is slow without optimization compiles the component, once.
PROFILE = "".join(f"\n[profile.{name}" for name in ("dev]\ndebug = false", "dev.package.cranelift-codegen]\nopt-level = 1",
                                                   "dev.package.regalloc2]\nopt-level = 1\n"))
# The tests of TLS speak to a module that the crate's own runtime has for itself. What it does is said by the standard library's.
INTERNALS = re.compile(r"^import _eryx_async\n(import _eryx\n)?", re.MULTILINE)
IN_PLACE = """import socket as _socket, ssl as _ssl
class _eryx_async:
    async def await_tcp_connect(host, port):
        return _socket.create_connection((host, port))
    async def await_tcp_read(connection, size):
        return connection.recv(size)
    async def await_tcp_write(connection, data):
        return connection.send(data)
    def tcp_close(connection):
        connection.close()
    async def await_tls_upgrade(connection, host):
        return _ssl.create_default_context().wrap_socket(connection, server_hostname=host)
    await_tls_read, await_tls_write, tls_close = await_tcp_read, await_tcp_write, tcp_close
"""


# These cancel by a task of the test's only thread. The crate's own runtime waits for files on its way to the user's code, which gives that
# task a turn; ours has nothing to wait for.
ONE_THREAD, THREADS = "execution_cancellation.rs", ("#[tokio::test]", '#[tokio::test(flavor = "multi_thread")]')


def cargo(*arguments, folder, **environment):
    return subprocess.run(["cargo", *map(str, arguments)], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", check=False, env={**os.environ, **environment})


def crate_source(folder):
    """Where cargo has the crate of our host's lock, whose hash it has checked."""
    said = subprocess.run(["cargo", "metadata", "--locked", "--format-version", "1", "--manifest-path", folder / CRATE / "Cargo.toml"],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True).stdout
    return next(Path(one["manifest_path"]).parent for one in json.loads(said)["packages"] if one["name"] == CRATE)


def stage(folder):
    """The crate, with what its tests ask of its own runtime said in other words."""
    work = folder / "crate" / CRATE
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(crate_source(folder), work, copy_function=shutil.copyfile)
    with (work / "Cargo.toml").open("a") as manifest:
        manifest.write(PROFILE)
    for file in (work / "tests").glob("*.rs"):
        text = INTERNALS.sub(IN_PLACE, file.read_text())
        file.write_text(text.replace(*THREADS) if file.name == ONE_THREAD else text)
    return work


def results_of(output):
    """{program.test: (outcome, why)} of what cargo said."""
    results, program, reasons, about = {}, None, {}, None
    for line in output.splitlines():
        if found := re.match(r" +Running (?:unittests )?(\S+) \(", line):
            program = Path(found[1]).stem
        elif found := re.match(r"test (\S+)(?: - should panic)? \.\.\. (ok|FAILED|ignored)", line):
            results[f"{program}.{found[1]}"] = ({"ok": "pass", "FAILED": "fail", "ignored": "skip"}[found[2]], "")
        elif found := re.match(r"---- (\S+) stdout ----", line):
            about = f"{program}.{found[1]}"
        elif about and line.strip():
            reasons.setdefault(about, []).append(line.strip())
            if len(reasons[about]) == 3:
                about = None
    return {name: (outcome, " / ".join(reasons.get(name, ()))[:500]) for name, (outcome, _) in results.items()}


def main():
    if len(sys.argv) < 2:
        print(__doc__)
        return 2
    folder = Path(sys.argv[1]).resolve()
    if not (folder / "sandbox.wasm").exists() or not (folder / "eryx_host").exists():
        print("The component or the host over the crate eryx is not there: `make component` makes them, or says why not.")
        return 2
    work, code = stage(folder), folder / "crate" / "runtime.cwasm"
    target = ["--target-dir", folder / "cargo-crate"]
    made = cargo("run", "--quiet", "--locked", "--ignore-rust-version", *target, "--example", "precompile", "--", "--output", code, folder=work,
                 ERYX_WASM_PATH=str(folder / "sandbox.wasm"))
    if made.returncode != 0:
        print(f"The component could not be compiled by the crate:\n{made.stdout}")
        return 2
    ran = cargo("test", "--locked", "--ignore-rust-version", *target, "--features", FEATURES, "--test", "*", "--no-fail-fast", "--",
                "--test-threads=1", *sys.argv[2:],  # what cancels one execution may end others of the same engine
                folder=work, ERYX_RUNTIME_CWASM=str(code))
    (folder / "crate" / "output").write_text(ran.stdout)
    results = results_of(ran.stdout)
    outcomes = [outcome for outcome, _ in results.values()]
    if "pass" not in outcomes:
        print(ran.stdout)
        return 2
    unexpected, stale = judge(results, expected(HERE / "crate_expected.toml"), len(sys.argv) == 2, "crate_expected.toml")
    for sentence in unexpected + stale:
        print(sentence)
    print(f"{outcomes.count('pass')} pass, {outcomes.count('fail')} fail; {len(unexpected)} failures and {len(stale)} entries of the list "
          f"are not as expected")
    return 1 if unexpected or stale else 0


if __name__ == "__main__":
    sys.exit(main())
