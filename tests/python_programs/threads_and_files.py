"""Threads that read and write files of pipes: one that waits keeps no other from what it waits for."""
import fcntl
import io
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

BIG = bytes(range(256)) * 4096


def beside(function, *arguments, daemon=False):
    thread = threading.Thread(target=function, args=arguments, daemon=daemon)
    thread.start()
    return thread


def attempt(function, *arguments, **named):
    try:
        return function(*arguments, **named)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


# A shell that is talked with: a thread reads what it says.
for options in ({"text": True, "bufsize": 1}, {"bufsize": 0}, {"bufsize": -1, "encoding": "latin-1"}):
    shell = subprocess.Popen(["sh"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options)
    said = queue.Queue()

    def listen(file):
        for line in file:
            said.put(line)
        said.put(None)

    beside(listen, shell.stdout)
    text = "text" in options or "encoding" in options
    for command in ("echo one", "cd /; pwd", "echo three; exit 4"):
        shell.stdin.write(command + "\n" if text else command.encode() + b"\n")
        shell.stdin.flush()
        print(said.get(timeout=60))
    print(said.get(timeout=60), shell.wait())
    shell.stdin.close(), shell.stdout.close()

# More than fits goes in, and comes out at the same time.
for size in (len(BIG), 10):
    cat = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    got = []
    reader = beside(lambda: got.append(cat.stdout.read()))
    print(cat.stdin.write(BIG[:size]), cat.stdin.close())
    reader.join()
    print(got[0] == BIG[:size], cat.wait(), cat.stdout.read(), cat.stdout.close())

# What comes on the standard input is read in a thread, as servers do that talk by lines.
SERVER = """
import sys, threading, queue
lines = queue.Queue()
def read():
    for line in sys.stdin: lines.put(line)
    lines.put(None)
threading.Thread(target=read).start()
worked = threading.Event()
threading.Timer(0.01, worked.set).start()
worked.wait()
print('works', flush=True)
while (line := lines.get()) is not None: print(line.strip()[::-1], flush=True)
"""
with subprocess.Popen([sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
    print(server.stdout.readline(), end="")
    for word in ("abc", "def"):
        print(word, file=server.stdin, flush=True)
        print(server.stdout.readline(), end="")
    server.stdin.close()
    print(repr(server.stdout.read()))

# Both ends in one process, by several kinds of files.
for mode, buffering in (("b", 0), ("b", 16), ("b", -1), ("", -1), ("", 1)):
    r, w = os.pipe()
    content = BIG if mode else "a line of text\n" * 30000

    def fill():
        with os.fdopen(w, "w" + mode, buffering) as file:
            left = content
            while left:
                left = left[file.write(left):]

    writer = beside(fill)
    with os.fdopen(r, "r" + mode, buffering) as file:
        pieces = [file.read(5), file.readline(), *iter(lambda: file.read(70000), file.read(0))]
    writer.join()
    print(len(pieces[0]), len(pieces[1]), (b"" if mode else "").join(pieces) == content)
a, b = socket.socketpair()
writer = beside(lambda: [os.fdopen(a.detach(), "wb").write(BIG)])
with os.fdopen(b.detach(), "rb") as file:
    print(len(file.read()))
writer.join()

# Ends that come while another thread reads.
r, w = os.pipe()
file = io.open(r, "rb")
reader = beside(lambda: print("read", file.read()))
time.sleep(0.01)
beside(lambda: (time.sleep(0.01), os.write(w, b"last"), os.close(w)))
file.close()
reader.join()
print(file.closed, attempt(file.read))

# What files say that they cannot do.
idle = threading.Event()
waiter = beside(idle.wait)
r, w = os.pipe()
for fd, mode, named in ((r, "r", {"buffering": 0}), (r, "rb", {"encoding": "utf-8"}), (r, "rb", {"newline": ""}), (r, "rbt", {}),
                        (r, "r", {"encoding": "nonesuch"}), (r, "r+b", {}), (99, "rb", {}),
                        (r, "q", {}), (r, "rw", {})):
    print(mode, attempt(io.open, fd, mode, **{"closefd": False} | named))
with io.open(r, "rb", 0, closefd=False) as file:
    os.set_blocking(r, False)
    print(file.read(1), file.read(), attempt(file.write, b"x"), isinstance(file, io.FileIO), type(file).__name__)
    os.set_blocking(r, True)
print(attempt(file.read), os.write(w, b"text\r\nmore"), os.close(w))
with io.open(r, encoding="ascii") as file:
    print(file.mode, file.buffer.mode, file.encoding, file.line_buffering, file.fileno() == r, file.readlines(), type(file.buffer).__name__)
print(os.popen("echo by a shell").read(), end="")
r, w = os.pipe()
os.close(r)
with io.open(w, "wb", 0) as file:
    print(attempt(file.write, b"nobody"))
idle.set()
waiter.join()

# A thread that ends while another one writes changes nothing for that one.
for bufsize in (0, -1):
    helper = beside(time.sleep, 0.05)
    with subprocess.Popen(["sh", "-c", "sleep 0.2; wc -c"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=bufsize) as counter:
        print(counter.stdin.write(BIG), counter.stdin.close(), int(counter.stdout.read()))
    helper.join()

# Named pipes: both ends in one process, or one in another.
os.mkfifo("pipe")


def say(text):
    with open("pipe", "w") as file:
        file.write(text)


for reading in (lambda: open("pipe").read(), lambda: io.open("pipe", "rb", 0).read(), lambda: Path("pipe").read_text(encoding="ascii"),
                lambda: os.fdopen(os.open("pipe", os.O_RDONLY)).read(), lambda: open("pipe", opener=lambda *opening: os.open(*opening)).read()):
    for sayer in (lambda: say("by a thread"), lambda: subprocess.run("printf by; printf ' a child'", shell=True, stdout=open("pipe", "w"))):
        thread = beside(lambda: (time.sleep(0.005), sayer()))
        print(reading())
        thread.join()
heard = []
reader = beside(lambda: (time.sleep(0.01), heard.append(Path("pipe").read_bytes())))
say("waits for a reader")
reader.join()
reader = beside(lambda: heard.append(subprocess.run(["cat", "pipe"], capture_output=True).stdout))
os.close(os.open("pipe", os.O_WRONLY))
reader.join()
print(heard, attempt(os.open, "pipe", os.O_WRONLY | os.O_NONBLOCK), attempt(open, "none"))


class Late(Exception):
    pass


def be_late(number, frame):
    raise Late("nobody came")


idle.clear()
waiter = beside(idle.wait)
signal.signal(signal.SIGALRM, be_late)
for mode in "rw":
    signal.setitimer(signal.ITIMER_REAL, 0.02)
    print(attempt(open, "pipe", mode))

# A write that a signal ends in its midst has written what it has, once.
r, w = os.pipe()
room = fcntl.fcntl(w, fcntl.F_GETPIPE_SZ)
os.write(w, bytes(room - 4096))
file = open(w, "wb", 8192)
file.write(b"a" * 4096 + b"b" * 4000)
signal.setitimer(signal.ITIMER_REAL, 0.05)
print(attempt(file.flush))
got = []
drain = beside(lambda: got.append(open(r, "rb").read()))
file.close()
drain.join()
print(len(got[0]) - room, got[0].count(b"a"), got[0].count(b"b"))

# A line of a terminal, which another thread answers with.
leader, terminal = os.openpty()
ASKER = """
import threading, time
ticks, asked = [], True
def tick():
    while asked:
        ticks.append(1)
        time.sleep(0.001)
ticker = threading.Thread(target=tick)
ticker.start()
line = input("name? ")
asked = len(ticks) < 3
print("said", line, asked)
"""
with subprocess.Popen([sys.executable, "-c", ASKER], stdin=terminal, stdout=terminal, stderr=terminal) as asker:
    seen = b""
    while b"name? " not in seen:
        seen += os.read(leader, 100)
    time.sleep(0.1)
    os.write(leader, b"me\n")
    while b"said" not in seen or not seen.endswith(b"\n"):
        seen += os.read(leader, 100)
print(seen, asker.returncode)

# Counters of events.
counter = os.eventfd(0)
adder = beside(lambda: (time.sleep(0.005), os.eventfd_write(counter, 7)))
print(os.eventfd_read(counter))
adder.join()

# What goes from one pipe into another.
(a, b), (c, d) = os.pipe(), os.pipe()
writer = beside(lambda: (time.sleep(0.005), os.write(b, b"spliced")))
print(os.splice(a, d, 100), os.read(c, 100))
writer.join()
idle.set()
waiter.join()
