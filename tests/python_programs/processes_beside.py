"""Processes beside a program: multiprocessing and ProcessPoolExecutor, started afresh ('spawn')."""
import multiprocessing as mp
import os
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool


def square(x):
    return x * x


def count_up(value, times):
    for _ in range(times):
        with value.get_lock():
            value.value += 1


def fill(array, index):
    array[index] = index * 1.5


def bad(x):
    raise ValueError(f"bad {x}")


def sleep_long():
    import time
    time.sleep(60)


def remember(value):
    globals()["kept"] = value


def use_kept(x):
    return kept + x  # noqa: F821


def produce(queue):
    for i in range(5):
        queue.put(i)
    queue.put(None)


def consume(queue, out):
    total = 0
    while (item := queue.get()) is not None:
        total += item
    out.put(total)


def wake(event, queue):
    event.wait()
    queue.put("woken")


def meet(barrier, queue):
    queue.put(barrier.wait())


def die():
    os._exit(7)


def answer(pipe):
    while (asked := pipe.recv()) != "end":
        pipe.send(asked * 2)


def run(*processes):
    for process in processes:
        process.start()
    return processes


def join(processes):
    for process in processes:
        process.join()
    return [process.exitcode for process in processes]


def values():
    value = mp.Value("i", 0)
    print(join(run(*(mp.Process(target=count_up, args=(value, 40)) for _ in range(3)))), value.value)
    array = mp.Array("d", 4)
    join(run(*(mp.Process(target=fill, args=(array, i)) for i in range(4))))
    print(array[:], len(array), array[-1])
    value.value = 2**31 - 1
    value.value += 1
    print(value.value)
    text = mp.Array("c", b"abc\0def")
    print(text[1:3], text.value)
    text.value = b"x"
    print(text.value, text[:])
    for wrong in (lambda: mp.Array("i", 2)[2], lambda: mp.Value("i", "a")):
        try:
            wrong()
        except (IndexError, TypeError) as error:
            print(type(error).__name__)


def pools():
    with mp.Pool(2) as pool:
        print(pool.map(square, range(10)), pool.apply_async(square, (7,)).get(), pool.starmap(pow, [(2, 3), (3, 2)]))
        print(sorted(pool.imap_unordered(square, range(6), chunksize=2)))
        try:
            pool.map(bad, [1])
        except ValueError as error:
            print("caught", error)
        try:
            pool.apply_async(sleep_long).get(0.1)
        except mp.TimeoutError:
            print("timeout")
    with mp.Pool(2, initializer=remember, initargs=(100,)) as pool:
        print(pool.map(use_kept, range(3)))
    with ProcessPoolExecutor(2) as executor:
        print(sorted(done.result() for done in as_completed([executor.submit(square, i) for i in range(4)])))
        try:
            executor.submit(bad, 2).result()
        except ValueError as error:
            print("caught", error)
    try:
        with ProcessPoolExecutor(1) as executor:
            executor.submit(die).result()
    except BrokenProcessPool:
        print("broken")


def ways_to_talk():
    queue, out = mp.Queue(), mp.Queue()
    workers = run(mp.Process(target=produce, args=(queue,)), mp.Process(target=consume, args=(queue, out)))
    print(out.get(), join(workers))
    event = mp.Event()
    workers = run(mp.Process(target=wake, args=(event, out)))
    event.set()
    print(out.get(), event.wait(0), join(workers))
    barrier = mp.Barrier(2)
    workers = run(*(mp.Process(target=meet, args=(barrier, out)) for _ in range(2)))
    print(sorted(out.get() for _ in workers), join(workers))
    near, far = mp.Pipe()
    workers = run(mp.Process(target=answer, args=(far,)))
    for item in (21, "ab", [1], b"x" * 300_000):
        near.send(item)
        print(len(str(near.recv())))
    near.send("end")
    print(join(workers))
    out.put(b"x" * 2_000_000)  # more than a pipe holds: a thread of ours writes while we read
    print(len(out.get()))
    with mp.Manager() as manager:
        shared, items = manager.dict(), manager.list([1])
        shared["a"] = 1
        items.append(2)
        print(dict(shared), list(items))


def ends():
    worker, = run(mp.Process(target=sleep_long))
    print(worker.is_alive(), mp.active_children() == [worker])
    worker.terminate()
    print(join([worker]), join(run(mp.Process(target=die))))
    for lock, errors in ((mp.Lock(), ValueError), (mp.BoundedSemaphore(1), ValueError), (mp.RLock(), AssertionError)):
        print(lock.acquire(), lock.acquire(block=False), end=" ")
        lock.release()
        try:
            lock.release()
            lock.release()
        except errors as error:
            print(error)


if __name__ == "__main__":
    mp.set_start_method("spawn")
    print(mp.get_start_method(), mp.current_process().name, mp.parent_process())
    values()
    pools()
    ways_to_talk()
    ends()
