"""Producers, a bounded queue, workers with timeouts, a task group and cancellation."""
import asyncio
import time


async def produce(queue, count, name):
    for i in range(count):
        await queue.put((name, i))
        await asyncio.sleep(0)


async def work(queue, results):
    while True:
        name, i = await queue.get()
        try:
            async with asyncio.timeout(0.5):
                await asyncio.sleep(0.001 * (i % 3))
                results.setdefault(name, []).append(i * i)
        finally:
            queue.task_done()


async def slow():
    try:
        await asyncio.sleep(30)
    except asyncio.CancelledError:
        print("cancelled")
        raise


async def failing():
    await asyncio.sleep(0.01)
    raise ValueError("broken")


async def main():
    queue, results = asyncio.Queue(maxsize=4), {}
    workers = [asyncio.create_task(work(queue, results)) for _ in range(3)]
    await asyncio.gather(*(produce(queue, 6, name) for name in "ab"))
    await queue.join()
    for worker in workers:
        worker.cancel()
    print({name: sorted(values) for name, values in sorted(results.items())})
    print([type(r).__name__ for r in await asyncio.gather(*workers, return_exceptions=True)])

    begin = time.monotonic()
    print(await asyncio.gather(*(asyncio.sleep(0.1, i) for i in range(20))))
    print("together:", time.monotonic() - begin < 1.5)
    try:
        await asyncio.wait_for(slow(), 0.02)
    except TimeoutError:
        print("timed out")
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(failing())
            group.create_task(slow())
    except* ValueError as errors:
        print("group:", errors.exceptions)
    lock, order = asyncio.Lock(), []

    async def locked(i):
        async with lock:
            order.append(i)
            await asyncio.sleep(0)
    await asyncio.gather(*map(locked, range(5)))
    print(order, await asyncio.to_thread(sum, range(10)))
    process = await asyncio.create_subprocess_exec("tr", "a-z", "A-Z", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
    out, _ = await process.communicate(b"from a child\n")
    print(out, process.returncode)
    process = await asyncio.create_subprocess_shell("echo out; echo err >&2; exit 3", stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
    print(await process.communicate(), process.returncode)


asyncio.run(main())
