"""Threads that sleep do so together; tickers that poll a flag are there until they are told, and can be joined."""
import threading
import time
from concurrent.futures import ThreadPoolExecutor

inside = most = 0
lock = threading.Lock()


def doze(number=0):
    global inside, most
    with lock:
        inside += 1
        most = max(most, inside)
    time.sleep(0.2)
    with lock:
        inside -= 1
    return number


def together():
    global most
    was, most = most, 0
    return was


with ThreadPoolExecutor(8) as pool:
    print(list(pool.map(doze, range(8))), together())
with ThreadPoolExecutor(3) as pool:
    print(sorted(future.result() for future in [pool.submit(doze, n) for n in range(7)]), together())
threads = [threading.Thread(target=doze, args=(n,)) for n in range(6)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(together(), inside)


class Dozing(threading.Thread):
    def run(self):
        doze()


threads = [Dozing() for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(together())

with ThreadPoolExecutor(100) as pool:
    print(sum(pool.map(lambda n: time.sleep(0.001) or n, range(300))))
# More than have a stack at a time: who starts them does not wait for one.
with ThreadPoolExecutor(400) as pool:
    print(sum(pool.map(lambda n: time.sleep(0.01) or n, range(500))))
gate = threading.Event()
many = [threading.Thread(target=gate.wait) for _ in range(200)]
for thread in many:
    thread.start()
print(len({thread.ident for thread in many}), all(thread.is_alive() for thread in many), threading.active_count())
gate.set()
for thread in many:
    thread.join()
print(any(thread.is_alive() for thread in many), threading.active_count())

running, ticks = True, []


def tick():
    while running:
        ticks.append("tick")
        time.sleep(0.02)


ticker = threading.Thread(target=tick)
ticker.start()
for _ in range(6):
    time.sleep(0.05)
running = False
ticker.join()
print(set(ticks), ticker.is_alive())

stop = threading.Event()


def wait_and_tick():
    while not stop.wait(0.02):
        ticks.append("tock")


ticker = threading.Thread(target=wait_and_tick)
ticker.start()
for _ in range(6):
    time.sleep(0.05)
stop.set()
ticker.join()
print(sorted(set(ticks)), ticker.is_alive())

polling = True


def poll():
    condition = threading.Condition()
    while polling:
        with condition:
            condition.wait(0.02)


ticker = threading.Thread(target=poll, daemon=True)
ticker.start()
ticker.join(0.1)
print(ticker.is_alive())
polling = False
ticker.join()
print(ticker.is_alive())

# Who gives a lock back and takes it again at once does not keep it.
for name, make in {"Lock": threading.Lock, "RLock": threading.RLock, "Condition": threading.Condition}.items():
    for hold in (lambda: time.sleep(0.002), lambda: sum(range(20000))):
        lock, running, held = make(), True, 0

        def keep():
            global held
            while running and held < 20000:
                with lock:
                    hold()
                    held += 1

        keeper = threading.Thread(target=keep)
        keeper.start()
        time.sleep(0.01)
        for _ in range(3):
            with lock:
                pass
        running = False
        keeper.join()
        print(name, held < 20000)

print([f"{kind.__module__}.{kind.__qualname__}" for kind in (type(threading.Lock()), type(threading.RLock()))])
