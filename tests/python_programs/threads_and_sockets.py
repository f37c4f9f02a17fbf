"""Threads of one process that talk by sockets and wait for each other's locks: what does not fit goes on when somebody reads."""
import array
import asyncio
import fcntl
import http.server
import os
import socket
import struct
import tempfile
import threading
import time
import urllib.request

os.chdir(tempfile.mkdtemp())
BIG = bytes(range(256)) * 4096
with open("big", "wb") as file:
    file.write(BIG)


def beside(function, *arguments):
    thread = threading.Thread(target=function, args=arguments)
    thread.start()
    return thread


def connected():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname())
        return client, listener.accept()[0]


def read_all(source, into):
    while data := source.recv(65536):
        into.append(data)


def sendfile(sock):
    with open("big", "rb") as file:
        return sock.sendfile(file, 10)


def by_file(sock):
    with sock.makefile("wb") as file:
        return file.write(BIG)


def by_hand(sock):
    sent = 0
    while sent < len(BIG):
        sent += os.write(sock.fileno(), BIG[sent:sent + 300000])
    return sent


for make in (socket.socketpair, connected):
    for send in (lambda s: s.sendall(BIG), lambda s: s.send(BIG), lambda s: s.sendmsg([BIG, b"end"]), sendfile, by_file, by_hand):
        a, b = make()
        got = []
        reader = beside(read_all, b, got)
        result = send(a)
        a.close()
        reader.join()
        b.close()
        content = b"".join(got)
        print(result, len(content), content.startswith(BIG[10:] if send is sendfile else BIG))

# All that was asked for, sent in pieces.
a, b = socket.socketpair()
sender = beside(lambda: [a.sendall(BIG[i:i + 100000]) for i in range(0, len(BIG), 100000)] and a.close())
print(len(b.recv(len(BIG) - 1, socket.MSG_WAITALL)), len(b.recv(10, socket.MSG_WAITALL)), b.recv(1, socket.MSG_WAITALL))
sender.join()
b.close()

# What does not wait: by a flag, by a descriptor of the same socket.
a, b = socket.socketpair()
idle = threading.Event()
waiter = beside(idle.wait)
for how in ("flag", "descriptor"):
    os.set_blocking(a.fileno(), how == "flag")
    try:
        print(a.recv(1, socket.MSG_DONTWAIT if how == "flag" else 0))
    except BlockingIOError as error:
        print(how, error.errno)
os.set_blocking(a.fileno(), True)
a.settimeout(0.05)
try:
    a.sendall(BIG)
except TimeoutError as error:
    print(error)
a.close(), b.close()

# A connection for two threads that accept; one that waits for room in the queue.
for family, address in ((socket.AF_INET, ("127.0.0.1", 0)), (socket.AF_UNIX, "at")):
    with socket.socket(family) as listener:
        listener.bind(address)
        listener.listen(1)
        accepted = []

        def accept_two():
            for _ in range(2):
                connection, _ = listener.accept()
                accepted.append(connection.recv(10))
                connection.close()

        acceptors = [beside(accept_two) for _ in range(3)]
        for number in range(6):
            with socket.socket(family) as client:
                client.connect(listener.getsockname())
                client.sendall(b"%d" % number)
        for acceptor in acceptors:
            acceptor.join()
        print(sorted(accepted))


class Handler(http.server.SimpleHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body[::-1])

    def log_message(self, *_):
        pass


with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
    beside(server.serve_forever)
    url = f"http://127.0.0.1:{server.server_port}/big"
    print(urllib.request.urlopen(url).read() == BIG, urllib.request.urlopen(url, BIG).read() == BIG[::-1])
    # Who does not read keeps nobody else waiting.
    with socket.create_connection(server.server_address) as slow:
        slow.sendall(b"GET /big HTTP/1.0\r\n\r\n")
        print(len(urllib.request.urlopen(url).read()))
        read_all(slow, [])
    server.shutdown()

# Locks that a thread holds and another waits for.
order = []


def hold(number, lock, unlock):
    with open("lock", "w") as file:
        lock(file)
        order.append(("has", number))
        time.sleep(0.02)
        order.append(("had", number))
        unlock(file)


holders = [beside(hold, i, lambda file: fcntl.flock(file, fcntl.LOCK_EX), lambda file: fcntl.flock(file, fcntl.LOCK_UN)) for i in range(3)]
for holder in holders:
    holder.join()
print([what for what, _ in order], all(order[i][1] == order[i + 1][1] for i in range(0, 6, 2)))
try:
    with open("lock") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with open("lock") as other:
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError as error:
    print(error.errno)
idle.set()
waiter.join()

# Descriptors in messages.
a, b = socket.socketpair()
r, w = os.pipe()
print(socket.send_fds(a, [b"one", b"two"], [r, w]))
data, fds, flags, address = socket.recv_fds(b, 100, 5)
print(data, len(fds), flags, address)
os.write(fds[1], b"through")
print(os.read(r, 10), os.fstat(fds[0]).st_ino == os.fstat(r).st_ino)
a.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [r]))])
data, ancillary, flags, _ = b.recvmsg(10)
print(data, ancillary, flags == socket.MSG_CTRUNC)
a.sendmsg([b"y", b"z"])
print(b.recvmsg(10, socket.CMSG_SPACE(4)), b.setblocking(False))
for attempt in (lambda: b.recvmsg(1, 100), lambda: b.recvmsg(-1), lambda: b.recvmsg(1, -1),
                lambda: a.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("i", 999))])):
    try:
        print(attempt())
    except (OSError, ValueError) as error:
        print(type(error).__name__, error)
u, v = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
print(u.sendmsg([b"a datagram"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [w]))]))
one, two = bytearray(4), bytearray(20)
print(v.recvmsg_into([one, two], socket.CMSG_LEN(4))[0], one, bytes(two).rstrip(b"\0"))

# What is sent to somebody who has left, who reads no more, who left with something unread.
for make in (socket.socketpair, connected):
    for unread in (b"", b"unread"):
        for leave in (socket.socket.close, lambda s: s.shutdown(socket.SHUT_RD), lambda s: s.shutdown(socket.SHUT_RDWR)):
            a, b = make()
            a.sendall(unread)
            leave(b)
            a.setblocking(False)
            said = []
            for step in (lambda: a.send(b"one"), lambda: a.send(b"two"), lambda: a.send(b"three"), lambda: a.recv(5)):
                try:
                    said.append(step())
                except OSError as error:
                    said.append(type(error).__name__)
            print(*said)
a, b = connected()
a.sendall(b"unread"), b.close()
for step in (lambda: a.recv(5), lambda: a.send(b"one")):
    try:
        print(step())
    except OSError as error:
        print(type(error).__name__)

# A name is looked up while the loop goes on.
ask, went_on = socket.getaddrinfo, threading.Event()
socket.getaddrinfo = lambda *arguments, **more: went_on.wait(60) and ask(*arguments, **more)


async def looks_up():
    loop = asyncio.get_running_loop()
    found = loop.create_task(loop.getaddrinfo("localhost", 80, family=socket.AF_INET, type=socket.SOCK_STREAM))
    await asyncio.sleep(0)
    loop.call_soon(went_on.set)
    print((await found)[0][4])
    try:
        await loop.getaddrinfo("localhost", "no-such-service")
    except socket.gaierror as error:
        print(type(error).__name__)


asyncio.run(looks_up())

# Who does not wait sends a first part of many buffers, in order.
first, second = socket.socketpair()
first.setblocking(False)
buffers = [bytes([number]) * 300_000 for number in range(10)]
sent = first.sendmsg([b"", *buffers])
came = b""
while len(came) < sent:
    came += second.recv(1 << 20)
print(0 < sent <= 3_000_000, came == b"".join(buffers)[:sent], 0 < first.send(b"".join(buffers)) <= 3_000_000)
first.close()
second.close()
