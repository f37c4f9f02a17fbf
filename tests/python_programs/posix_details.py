"""Flags, descriptors, children and closed sockets, as CPython has them on Linux."""
import fcntl
import locale
import mmap
import os
import select
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path


def attempt(function, *arguments, **named):
    try:
        return function(*arguments, **named)
    except Exception as error:
        return f"{type(error).__name__}: {getattr(error, 'errno', None)}"


os.chdir(tempfile.mkdtemp())
print({name: oct(getattr(os, name)) for name in sorted(dir(os)) if name.startswith("O_")})

# A pipe that does not block, in three ways.
for make in (lambda: os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC), os.pipe):
    r, w = make()
    fcntl.fcntl(r, fcntl.F_SETFL, fcntl.fcntl(r, fcntl.F_GETFL) | os.O_NONBLOCK)
    print(os.get_blocking(r), attempt(os.read, r, 1), bool(fcntl.fcntl(r, fcntl.F_GETFL) & os.O_NONBLOCK), os.get_inheritable(r))
child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read(); print('last words')"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
fcntl.fcntl(child.stdout, fcntl.F_SETFL, fcntl.fcntl(child.stdout, fcntl.F_GETFL) | os.O_NONBLOCK)
print(child.stdout.read(), child.stdin.close(), child.wait(), child.stdout.read())
for buffering in (16, 8192):
    r, w = os.pipe()
    os.set_blocking(w, False)
    file = open(w, "wb", buffering=buffering)
    print(attempt(lambda: [file.write(b"x" * 9000) for _ in range(99)]))
    os.set_blocking(w, True)
    threading.Thread(target=lambda: [os.read(r, 1 << 20) for _ in range(2)], daemon=True).start()
    file.close()

# Files by flags, and by an opener, which gets the flags that open() has made.
fd = os.open("a", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
print(os.write(fd, b"one"), attempt(os.open, "a", os.O_CREAT | os.O_EXCL | os.O_WRONLY), oct(stat.S_IMODE(os.fstat(fd).st_mode)))
print(fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDWR, fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_APPEND)
os.symlink("a", "link")
print(attempt(os.open, "link", os.O_RDONLY | os.O_NOFOLLOW), attempt(os.open, "a", os.O_RDONLY | os.O_DIRECTORY))
for mode in ("w", "a", "r", "r+", "x"):
    def opener(path, flags):
        return os.open(path, flags | os.O_NOFOLLOW, 0o640)
    with attempt(open, "b", mode, opener=opener) if mode != "x" else open("c", mode, opener=opener) as file:
        print(mode, file.read() if "r" in mode else file.write(mode), attempt(open, "link", mode, opener=opener))
print(open("b").read(), oct(stat.S_IMODE(os.stat("b").st_mode)), os.lseek(os.open("b", os.O_WRONLY | os.O_APPEND), 0, os.SEEK_CUR))
print(os.fstat(os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600)).st_nlink, os.fstat(os.open("b", os.O_WRONLY | os.O_TRUNC)).st_size)
with tempfile.TemporaryFile("w+") as file:
    print(file.write("x"), file.seek(0), file.read(), os.fstat(file.fileno()).st_nlink)

# Folders by descriptors.
os.makedirs("d/e/f")
open("d/e/g", "w").close()
folder = os.open("d", os.O_RDONLY)
print(os.listdir(folder), [(entry.name, entry.path, entry.is_dir(), stat.S_ISDIR(entry.stat().st_mode)) for entry in os.scandir(folder)])
for options in ({}, {"topdown": False}, {"dir_fd": folder}):
    walked = os.fwalk("e" if options.get("dir_fd") else "d", **options)
    print([(root, folders, files, stat.S_ISDIR(os.fstat(fd).st_mode)) for root, folders, files, fd in walked])
print(list(os.fwalk("d/e/g")), attempt(next, os.fwalk("none")), attempt(next, os.fwalk("d/e/g", follow_symlinks=True)))
print(attempt(os.scandir, ""), attempt(os.listdir, ""), attempt(os.listdir, fd), os.listdir in os.supports_fd, os.scandir in os.supports_fd)
print(attempt(os.copy_file_range, fd, 1, -1))

# Children: names of variables, arguments, signals.
code = "import signal, sys; print(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])), flush=True)"
for options in ({}, {"setsigdef": [signal.SIGUSR1]}, {"setsigmask": [signal.SIGUSR2, signal.SIGHUP]}):
    print(options, flush=True)
    print(os.waitpid(os.posix_spawn(sys.executable, ["python3", "-c", code], os.environ, **options), 0)[1], flush=True)
print(attempt(os.posix_spawn, "/bin/true", [], {}), attempt(os.posix_spawn, "/bin/true", [""], {}), attempt(os.posix_spawn, "/bin/true", ["a"], {"A=": "b"}))
print(attempt(os.posix_spawn, "/bin/true", ["a"], {}, setsigdef=[0]))
print(attempt(os.execv, "/bin/true", []), attempt(os.execve, "/bin/true", [""], {}), attempt(os.execve, "/bin/true", ["a"], {"": "b"}))
print(attempt(os.spawnv, os.P_WAIT, "/bin/true", []), os.spawnv(os.P_WAIT, "/none", ["a"]))
print(attempt(subprocess.run, ["true"], cwd="/none"), attempt(subprocess.run, ["/none"]), attempt(subprocess.run, ["true"], env={"A=B": "c"}))

# A socket that was closed is an error for every thread.
server = socket.create_server(("127.0.0.1", 0))
told = []


def client():
    connection = socket.create_connection(server.getsockname())
    connection.close()
    told.extend(attempt(call) for call in (lambda: connection.sendall(b"x"), lambda: connection.recv(1), connection.getpeername))


thread = threading.Thread(target=client)
thread.start()
accepted, _ = server.accept()
print(accepted.recv(1))
accepted.sendall(b"")
thread.join()
server.close()
print(told, attempt(server.accept))
print(threading.main_thread().native_id == threading.get_native_id() == os.getpid(), threading.Thread().native_id)
others = [threading.Thread(target=lambda: told.append(threading.get_native_id())) for _ in range(3)]
told.clear()
for thread in others:
    thread.start()
for thread in others:
    thread.join()
print(sorted(told) == sorted({thread.native_id for thread in others}), len({*told, os.getpid()}))

# asyncio's loop over each of the selectors, beside a server in a thread.
import asyncio
import selectors


def serve(listener):
    connection, _ = listener.accept()
    connection.sendall(connection.recv(100).upper())
    connection.close()


async def ask(loop, address):
    with socket.socket() as connection:
        connection.setblocking(False)
        await loop.sock_connect(connection, address)
        await loop.sock_sendall(connection, b"hello")
        return await loop.sock_recv(connection, 100), await loop.run_in_executor(None, sum, [1, 2])


for selector in (selectors.SelectSelector, selectors.PollSelector, selectors.EpollSelector):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        loop = asyncio.SelectorEventLoop(selector())
        print(selector.__name__, loop.run_until_complete(ask(loop, listener.getsockname())))
        thread.join()
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()

# A map of a file: only what is written to it goes there, and not what was read.
with open("mapped", "w+b") as file:
    file.write(b"a" * 10), file.flush()
    with mmap.mmap(file.fileno(), 0) as memory:
        print(memory[:3], list(memory)[:2])
        os.pwrite(file.fileno(), b"NEW", 0)
        memory[5] = 98
        memory[7:9] = b"cd"
        os.pwrite(file.fileno(), b"U", 6)
    print(open("mapped", "rb").read())
with open("mapped", "w+b") as file:
    os.ftruncate(file.fileno(), 300000)
    with mmap.mmap(file.fileno(), 200000) as memory:
        memory[0], memory[65535], memory[65536], memory[199999] = b"\x01\x02\x03\x04"
        memory.flush()
        print([os.pread(file.fileno(), 1, i) for i in (0, 65535, 65536, 199999, 299999)])
        memory.resize(70000)
        memory[69999] = 5
        memory.resize(150000)
        print(len(memory), memory[69999], memory[149999], os.fstat(file.fileno()).st_size)
        memory[149999] = 6
        memory[149990:149999] = b"123456789"
    print(os.pread(file.fileno(), 11, 149990), os.fstat(file.fileno()).st_size)
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as memory:
        with memoryview(memory) as view:
            print(view.readonly, bytes(view[149990:149993]))
        print(attempt(file.readinto, memory))
    with mmap.mmap(file.fileno(), 0) as memory, memoryview(memory) as view:
        view[0:1] = b"w"
    print(attempt(memoryview, memory), os.pread(file.fileno(), 1, 0))
    # What somebody has a view of is neither closed nor made longer.
    memory = mmap.mmap(file.fileno(), 0)
    view = memoryview(memory)
    print(attempt(memory.close), memory.closed, attempt(memory.resize, 100), attempt(memory.resize, 400000), len(memory), bytes(view[:1]))
    print(os.fstat(file.fileno()).st_size, attempt(memory.__exit__, None, None, None), memory.closed)
    view[1:2] = b"v"
    view.release()
    print(attempt(memory.close), memory.closed, attempt(memory.close), attempt(len, memory), attempt(memory.flush), os.pread(file.fileno(), 2, 0))

# What one child has used, and not those before it.
used = []
for turns in (4000000, 10):
    child = subprocess.Popen([sys.executable, "-c", f"for _ in range({turns}): pass"])
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    used.append(usage.ru_utime + usage.ru_stime)
print(child.returncode, len(usage), used[1] < used[0], attempt(os.wait3, 0))
print(os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_PAGESIZE"), mmap.PAGESIZE)

said = []
thread = threading.Thread(target=lambda: said.append(attempt(signal.signal, signal.SIGUSR1, signal.SIG_IGN)))
thread.start()
thread.join()
print(said, subprocess.run([sys.executable, "-"], input=b"print(__file__)", capture_output=True).stdout)

# Waits that are no time, descriptors that a program does not leave open, and which file system it is.
for lock in (threading.Lock(), threading.RLock(), threading.Condition()):
    print([attempt(lock.acquire, True, seconds) for seconds in (float("nan"), -2, threading.TIMEOUT_MAX * 2, 1)])
print(attempt(threading.Lock().acquire, False, 1))
event = threading.Event()
print(attempt(event.wait, float("nan")), attempt(event.wait, threading.TIMEOUT_MAX * 2), event.wait(-3))
if hasattr(os, "timerfd_create"):
    print(os.get_inheritable(os.timerfd_create(time.CLOCK_MONOTONIC, flags=os.TFD_NONBLOCK)))
print(type(os.statvfs("/").f_fsid), len(os.statvfs("/")))

# Locales: those that the system has.
for name in (None, "de_DE.UTF-8", "POSIX", "C.UTF-8", "C.utf8", "C;C", ("C", "UTF-8"), "LC_CTYPE=C.UTF-8;LC_NUMERIC=C;LC_TIME=C"):
    print(attempt(locale.setlocale, locale.LC_ALL, name), attempt(locale.setlocale, locale.LC_NUMERIC), attempt(locale.getlocale))
print(attempt(locale.setlocale, 99, "C"), attempt(locale.setlocale, 99), attempt(locale.setlocale, 0, "a\0"))

# Numbers that no descriptor has: nothing of them is cut off, so that they are another's.
for number in (2**32 + 1, 2**63, 2**70, -(2**31) - 1):
    print([attempt(call, number) for call in (os.fstat, os.close, os.fsync, os.isatty, os.get_inheritable, os.fchdir, os.dup)],
          attempt(select.poll().register, number), attempt(select.select, [number], [], [], 0), attempt(fcntl.fcntl, number, fcntl.F_GETFD))

# By its name a file gets another length, and nobody waits for who reads a pipe.
os.mkfifo("a pipe"), os.symlink("a pipe", "to a pipe"), os.mkdir("a folder")
with open("a file", "w") as file:
    file.write("abcdef")
for given in (("a pipe", 0), ("to a pipe", 3), ("a folder", 0), ("nothing", 0), ("a file/x", 0), ("a file", -1), ("a file", 1.5), ("a file", 2**64),
              ("a\0b", 0), (None, 0), ("a file", 8), (b"a file", 3), (Path("a file"), 2), (999, 0)):
    print(attempt(os.truncate, *given), os.path.getsize("a file"))
with open("a file", "r+") as file:
    print(attempt(os.truncate, file.fileno(), 5), os.path.getsize("a file"), attempt(os.truncate, path="a file", length=1), os.path.getsize("a file"))
