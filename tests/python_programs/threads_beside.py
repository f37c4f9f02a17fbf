"""Threads beside a main thread that computes, sleeps, writes; pools; conversations within one process."""
import asyncio
import contextvars
import os
import queue
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.pool import ThreadPool


class Ticker:
    def __enter__(self):
        self.count, self.stop = 0, threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()
        return self

    def run(self):
        while not self.stop.wait(0.001):
            self.count += 1

    def ticks(self, what):
        before, end = self.count, time.monotonic() + 60
        while self.count < before + 5 and time.monotonic() < end:
            what()
        return self.count >= before + 5

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()


def write():
    with tempfile.TemporaryFile() as file:
        file.write(b"x" * 1000)


with Ticker() as ticker:
    print("computes", ticker.ticks(lambda: sum(range(1000))), "sleeps", ticker.ticks(lambda: time.sleep(0.01)),
          "writes", ticker.ticks(write), "waits for a child", ticker.ticks(lambda: subprocess.run(["sleep", "0.01"])))
print(ticker.thread.is_alive(), threading.active_count())


def together(start, count):
    """Whether so many calls are under way at the same time."""
    meet = threading.Barrier(count)
    return list(start(lambda i: (meet.wait(60), i)[1], range(count)))


with ThreadPoolExecutor(8) as pool:
    print(together(pool.map, 8))
with ThreadPool(4) as pool:
    print(together(pool.map, 4), list(pool.imap_unordered(abs, [-1])), pool.apply_async(max, (1, 2)).get())


async def to_threads():
    meet = threading.Barrier(4)
    return await asyncio.gather(*(asyncio.to_thread(lambda i=i: (meet.wait(60), i)[1]) for i in range(4)))


print(asyncio.run(to_threads()))

listener = socket.create_server(("127.0.0.1", 0))


def serve():
    with listener.accept()[0] as connection, connection.makefile("rw") as lines:
        for line in lines:
            lines.write(line.upper())
            lines.flush()


server = threading.Thread(target=serve)
server.start()
answers = []
with socket.create_connection(listener.getsockname()) as connection, connection.makefile("rw") as lines:
    for i in range(5):
        lines.write(f"line {i}\n")
        lines.flush()
        answers.append(lines.readline().strip())
server.join()
print(answers)

count, lock, owners = 0, threading.RLock(), []


def add():
    global count
    for _ in range(500):
        with lock:
            count += 1
    with lock, lock:
        owners.append(threading.current_thread().name)
        time.sleep(0.001)
        owners.append(threading.current_thread().name)


threads = [threading.Thread(target=add) for _ in range(6)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(count, all(a == b for a, b in zip(owners[::2], owners[1::2])))

work, done = queue.Queue(2), []


def consume():
    while (item := work.get()) is not None:
        done.append(item)
        work.task_done()


consumer = threading.Thread(target=consume)
consumer.start()
for i in range(10):
    work.put(i)
    assert work.qsize() <= 2
work.join()
work.put(None)
consumer.join()
print(done)

here, there, value = threading.local(), [], contextvars.ContextVar("value", default=0)
here.x = 1
value.set(1)
thread = threading.Thread(target=lambda: there.extend([hasattr(here, "x"), value.get()]))
thread.start()
thread.join()
print(there, here.x, value.get())

came = []
signal.signal(signal.SIGUSR1, lambda number, frame: came.append(threading.current_thread().name))
thread = threading.Thread(target=lambda: os.kill(os.getpid(), signal.SIGUSR1))
thread.start()
thread.join()
while not came:
    time.sleep(0.001)
print(came)


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)


thread = threading.Thread(target=interrupt)
try:
    thread.start()
    while True:
        pass
except KeyboardInterrupt:
    print("interrupted", threading.current_thread() is threading.main_thread())
thread.join()


def deep(n=0):
    return deep(n + 1)


def fall():
    try:
        deep()
    except RecursionError:
        print("too deep")


thread = threading.Thread(target=fall)
thread.start()
thread.join()

large = []
thread = threading.Thread(target=lambda: large.append(bytearray(b"a") * (20 << 20)))
thread.start()
thread.join()
more = bytearray(b"b") * (20 << 20)
print(len(large[0]), large[0][-1], more[-1])

threads = [threading.Thread(target=time.sleep, args=(0.001,)) for _ in range(200)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(threading.active_count(), threading.Lock().acquire(timeout=1), threading.Event().wait(0.001))
threading.Thread(target=lambda: (time.sleep(0.01), print("last"))).start()
sys.stdout.flush()
