"""What `os`, `signal` and `select` have on Linux beside the usual."""
import errno
import os
import select
import selectors
import signal
import socket
import syslog
import tempfile
import threading
import time

os.chdir(tempfile.mkdtemp())

reader, writer = os.pipe()
os.writev(writer, [b"ab", b"cd"])
parts = [bytearray(1), bytearray(5)]
print(os.readv(reader, parts), parts)

with open("f", "wb") as file:
    file.write(b"0123456789")
f, g = os.open("f", os.O_RDWR), os.open("g", os.O_RDWR | os.O_CREAT)
print(os.copy_file_range(f, g, 5, 2), os.pwritev(f, [b"x", b"y"], 8), os.sendfile(g, f, 8, 2), os.preadv(f, parts, 1), parts)
os.posix_fallocate(g, 0, 20)
os.lockf(f, os.F_LOCK, 0)
os.lockf(f, os.F_ULOCK, 0)
print(open("g", "rb").read(), open("f", "rb").read())
print(os.major(0x0801), os.minor(0x0801), os.makedev(8, 1), len(os.getrandom(4)), os.ctermid(), os.getresuid()[0] == os.getuid())
print([sorted(files) for _, _, files, _ in os.fwalk(".")])

os.setxattr("f", "user.note", b"kept")
print(os.listxattr("f"), os.getxattr("f", "user.note"))
os.removexattr("f", "user.note")
try:
    os.getxattr("f", "user.note")
except OSError as error:
    print(error.errno, error.filename)

try:
    os.close(os.pidfd_open(os.getpid()))
except OSError as error:
    assert error.errno == errno.ENOSYS, error

event = os.eventfd(2)
os.eventfd_write(event, 5)
memory = os.memfd_create("name")
os.write(memory, b"in memory")
timer = os.timerfd_create(time.CLOCK_MONOTONIC)
print(os.timerfd_settime(timer, initial=0.01), os.read(timer, 8), os.timerfd_gettime(timer))
print(os.eventfd_read(event), os.pread(memory, 9, 3))

one, two = socket.socketpair()
with selectors.EpollSelector() as selector:
    selector.register(one, selectors.EVENT_READ | selectors.EVENT_WRITE, "data")
    print([(key.data, events) for key, events in selector.select(5)])
    two.send(b"x")
    print([(key.data, events) for key, events in selector.select(5)])
with select.epoll() as poll:
    poll.register(two, select.EPOLLOUT | select.EPOLLET)
    print(poll.poll(5) == [(two.fileno(), select.EPOLLOUT)], poll.poll(0), poll.closed)
try:
    poll.poll()
except ValueError as error:
    print(error)

signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGUSR2])
os.kill(os.getpid(), signal.SIGUSR1)
print(signal.sigpending(), signal.sigwait([signal.SIGUSR1, signal.SIGUSR2]))
os.kill(os.getpid(), signal.SIGUSR2)
info = signal.sigwaitinfo([signal.SIGUSR2])
print(info.si_signo, info.si_pid == os.getpid(), signal.sigtimedwait([signal.SIGUSR1], 0.01))
print(threading.get_native_id() == os.getpid(), syslog.setlogmask(syslog.LOG_UPTO(syslog.LOG_ERR)), syslog.syslog("hello"))
