"""A barrier with a time limit, a pseudo terminal, servers in threads that are shut down and serve again."""
import os
import pty
import socketserver
import threading
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
