# SPDX-License-Identifier: Apache-2.0
"""Runs program.py's scenes on a pseudo-terminal, types, and prints what the terminal shows at each step: the same in a sandbox and natively.

    drive.py PYTHON [SCENE ...]
"""
import fcntl
import os
import select
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

from screen import Screen

HERE = Path(__file__).resolve().parent
PATIENCE_S = 60
HEIGHT, WIDTH = 24, 80
# (what is waited for, None for a bell; what is done then): keys as bytes, a size.
KEYS = (b"a", b"\x1bOA", b"\x1bOP", b"\x1b[15~", b"\x1b[3~", b"\x1bOH", b"\x1b[6~", b"\x7f", b"\r", b"\x1b[Z", b"\x1b[<0;11;6M\x1b[<0;11;6m")
SCENES = {
    "draw": [("<drawn>", b"q")],
    "panels": [(f"<panels {name}>", b" ") for name in ("<lambda>", "top", "hide", "<lambda>", "show")] + [("<panels told>", b"q")],
    "keys": [(f"<key {number}>", key) for number, key in enumerate(KEYS, 1)] + [
        ("<wide>", "é".encode()), ("<named>", b"\x1bOD"), ("<line>", b"abx\x7fc\r"), ("<end>", b"q")],
    "resize": [("<size 24 80>", (30, 100)), ("<size 30 100>", (12, 50)), ("<size 12 50>", b"q"), ("<resized>", b"q")],
    "text": [("<edit>", b"Hello\x01X\x05\x0eworld\x10\x0b\x07"), ("<edited>", b"q")],
    "signals": [("<interrupt>", b"\x03"), ("<signalled>", b"q")],
    "threads": [(None, b"k"), ("<counted>", b"q")],
    "shell": [("<back>", b"q")],
    "stop": [("<stop>", b"\x1a"), (None, b"x"), ("<continued>", b"q")],
}
TERMINALS = {"vt100": ("draw",), "linux": ("draw", "panels"), "screen-256color": ("draw",)}


class Driver:
    def __init__(self, command, terminal):
        self.master, slave = os.openpty()
        self.screen = Screen(HEIGHT, WIDTH)
        self.size(HEIGHT, WIDTH)
        environment = {**os.environ, "TERM": terminal, "LC_ALL": "C.UTF-8", "ESCDELAY": "200"}
        environment.pop("LINES", None)
        environment.pop("COLUMNS", None)
        self.child = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=environment, start_new_session=True,
                                      preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(slave)
        self.open = True

    def size(self, height, width):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("<HHHH", height, width, 0, 0))
        self.screen.resize(height, width)

    def take(self):
        try:
            data = os.read(self.master, 1 << 16)
        except OSError:
            data = b""
        self.open = bool(data)
        self.screen.feed(data)

    def until(self, holds):
        end = time.monotonic() + PATIENCE_S
        while not holds() and self.open:
            ready, _, _ = select.select([self.master], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                return False
            self.take()
        return holds()

    def settled(self):
        """What comes within a moment still."""
        while self.open and select.select([self.master], [], [], 0.05)[0]:
            self.take()

    def act(self, what):
        if isinstance(what, tuple):
            self.size(*what)
        else:
            os.write(self.master, what)


def play(python, scene, terminal):
    command = [python, "-B", str(HERE / "program.py"), scene]
    if scene == "stop":  # it wants a shell that continues it
        command = ["bash", "-mc", r'"$@"; printf "\a"; fg >/dev/null', "bash", *command]
    driver = Driver(command, terminal)
    print(f"== {scene} on {terminal}")
    for number, (wanted, what) in enumerate(SCENES[scene]):
        if wanted is None:
            shown = driver.until(lambda: driver.screen.bell)
        else:
            shown = driver.until(lambda: any(wanted in line for line in driver.screen.text()))
        driver.settled()
        print(f"-- {number} {wanted if shown else f'{wanted} is not shown'}")
        print("\n".join(driver.screen.told()))
        if not shown:
            driver.child.kill()
            break
        driver.act(what)
    driver.until(lambda: not driver.open)
    print("-- end", driver.child.wait())
    print("\n".join(driver.screen.told()), flush=True)
    os.close(driver.master)


def main():
    python, *scenes = sys.argv[1:]
    for terminal, some in {"xterm-256color": tuple(SCENES), **TERMINALS}.items():
        for scene in some:
            if not scenes or scene in scenes:
                play(python, scene, terminal)


if __name__ == "__main__":
    main()
