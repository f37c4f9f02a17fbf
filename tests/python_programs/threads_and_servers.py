"""A barrier with a time limit, a pseudo terminal, servers in threads that are shut down and serve again, turns at a database."""
import os
import pty
import socketserver
import sqlite3
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

barrier, passed = threading.Barrier(3), []


def meet(number):
    barrier.wait(timeout=600)
    passed.append(number)


threads = [threading.Thread(target=meet, args=(i,)) for i in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sorted(passed), barrier.broken, flush=True)

shown = []


def read(fd):
    shown.append(os.read(fd, 1024))
    return shown[-1]


status = pty.spawn(["sh", "-c", "test -t 0 && echo a terminal; exit 3"], read)
print(os.waitstatus_to_exitcode(status), b"".join(shown))


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"ok " + self.path.encode())

    def log_message(self, *_):
        pass


def get(server, path):
    return urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}{path}").read()


for how in ("method", "function"):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    for turn in range(2):
        thread = threading.Thread(target=server.serve_forever if how == "method" else lambda: server.serve_forever(), daemon=True)
        thread.start()
        print(how, get(server, f"/{turn}"))
        server.shutdown()
    server.server_close()
    thread.join()
    print(thread.is_alive())


class Upper(socketserver.StreamRequestHandler):
    def handle(self):
        self.wfile.write(self.rfile.readline().upper())


import socket  # noqa: E402

with socketserver.TCPServer(("127.0.0.1", 0), Upper) as server:
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    for word in (b"one\n", b"two\n"):
        with socket.create_connection(server.server_address) as client:
            client.sendall(word)
            print(client.recv(10))
    server.shutdown()
    thread.join()

# Each waits its turn for the lock of a database, and lets the one that has it go on.
order = []


def transaction(number):
    own = sqlite3.connect("turns.db", timeout=60, isolation_level=None)
    own.execute("begin immediate")
    order.append(f"{number} begins")
    time.sleep(0.05)
    order.append(f"{number} ends")
    own.execute("insert into turn values(?)", (number,))
    own.execute("commit")
    own.close()


with sqlite3.connect("turns.db") as made:
    made.execute("create table turn(number)")
made.close()
threads = [threading.Thread(target=transaction, args=(i,)) for i in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print([entry.split()[1] for entry in order], sorted(order))

# Two threads wait with one connection for a third one that has another.
shared, holder = (sqlite3.connect("turns.db", timeout=60, isolation_level=None, check_same_thread=False) for _ in range(2))
holder.execute("begin immediate")
threads = [threading.Thread(target=lambda i=i: shared.execute("insert into turn values(?)", (i,))) for i in (10, 11)]
for thread in threads:
    thread.start()
time.sleep(0.1)
print([thread.is_alive() for thread in threads])
holder.execute("commit")
for thread in threads:
    thread.join()
print([row[0] for row in holder.execute("select number from turn order by number")])
