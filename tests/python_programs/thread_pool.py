"""Threads: a pool, a queue with workers, locks, events, results and exceptions."""
import queue
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed


def work(n):
    if n == 3:
        raise ValueError(f"no {n}")
    return n * n


with ThreadPoolExecutor(max_workers=4) as pool:
    print(list(pool.map(work, [1, 2, 4])))
    futures = {pool.submit(work, n): n for n in range(5)}
    results = {}
    for future in as_completed(futures):
        try:
            results[futures[future]] = future.result()
        except ValueError as error:
            results[futures[future]] = str(error)
print(dict(sorted(results.items())))

jobs, out, lock = queue.Queue(), [], threading.Lock()


def worker():
    while (item := jobs.get()) is not None:
        with lock:
            out.append(item.upper())
        jobs.task_done()
    jobs.task_done()


threads = [threading.Thread(target=worker) for _ in range(2)]
for thread in threads:
    thread.start()
for word in "these words are work".split():
    jobs.put(word)
for _ in threads:
    jobs.put(None)
jobs.join()
for thread in threads:
    thread.join()
print(sorted(out), any(thread.is_alive() for thread in threads))

ready, seen = threading.Event(), []
thread = threading.Thread(target=lambda: (ready.wait(5), seen.append(threading.current_thread().name)), name="waiter")
thread.start()
ready.set()
thread.join()
print(seen, threading.active_count(), threading.main_thread() is threading.current_thread())
local = threading.local()
local.value = 1
thread = threading.Thread(target=lambda: seen.append(hasattr(local, "value")))
thread.start()
thread.join()
print(seen[-1], local.value)
