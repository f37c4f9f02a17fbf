# SPDX-License-Identifier: Apache-2.0
"""A client under load, in a process of its own: asks for one command after another in many sessions.

    driver.py PORT TOKEN RATE CONNECTIONS <sessions >what-came-of-it

Each command appends a line to the session's file `log`. It begins RATE commands a second, or as many as are answered, until
its standard input ends; then it says in a line of JSON what was acknowledged, what failed, and how long each took.
"""
import asyncio
import json
import random
import sys
import time


class Connection:
    """Kept alive as a client's is; HAProxy and cells say when it is over."""

    def __init__(self, port, token):
        self.port = port
        self.head = f"Host: 127.0.0.1\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n"
        self.streams = None

    async def ask(self, method, path, body):
        if self.streams is None:
            self.streams = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self.streams
        try:
            writer.write(f"{method} {path} HTTP/1.1\r\n{self.head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = int(head.split("content-length:")[1].split("\r\n")[0])
            content = await reader.readexactly(length)
            if "connection: close" in head:
                await self.close()
            return int(head.split()[1]), content
        except BaseException:
            await self.close()
            raise

    async def close(self):
        streams, self.streams = self.streams, None
        if streams:
            streams[1].close()


class Driver:
    def __init__(self, port, token, rate, connections, sessions):
        self.port, self.token, self.rate, self.sessions = port, token, rate, sessions
        self.acknowledged = {session: [] for session in sessions}
        self.failures = []
        self.times = []
        self.ended = False
        self.free = asyncio.Queue()
        for _ in range(connections):
            self.free.put_nowait(Connection(port, token))

    async def one(self, connection, session, line):
        begin = time.monotonic()
        try:
            status, body = await connection.ask("POST", f"/sessions/{session}/commands",
                                                json.dumps({"command": f"echo {line} >> log"}))
            if status == 200 and json.loads(body)["exitCode"] == 0:
                self.acknowledged[session].append(line)
            else:
                self.failures.append((session, line, f"{status} {body[:200]!r}"))
        except (OSError, EOFError, ValueError, IndexError) as error:
            self.failures.append((session, line, repr(error)))
        self.times.append(time.monotonic() - begin)
        self.free.put_nowait(connection)

    async def run(self):
        tasks, line = set(), 0
        begin = time.monotonic()
        while not self.ended:
            line += 1
            connection = await self.free.get()
            due = begin + line / self.rate
            now = time.monotonic()
            if due > now:
                await asyncio.sleep(due - now)
            elif now - due > 1:
                begin += now - due  # it is not made up for
            task = asyncio.create_task(self.one(connection, random.choice(self.sessions), line))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        await asyncio.gather(*tasks)

    def result(self, seconds):
        ordered = sorted(self.times)
        at = lambda part: ordered[min(len(ordered) - 1, int(part * len(ordered)))] if ordered else 0
        return {"acknowledged": self.acknowledged, "failures": self.failures, "seconds": seconds, "count": len(ordered),
                "median_s": at(0.5), "slow_s": at(0.99), "longest_s": at(1)}


async def main():
    port, token, rate, connections = sys.argv[1:]
    sessions = sys.stdin.readline().split()
    driver = Driver(int(port), token, float(rate), int(connections), sessions)
    loop = asyncio.get_running_loop()
    ended = loop.run_in_executor(None, sys.stdin.read)
    begin = time.monotonic()
    work = asyncio.create_task(driver.run())
    await ended
    driver.ended = True
    await work
    print(json.dumps(driver.result(time.monotonic() - begin)))


if __name__ == "__main__":
    asyncio.run(main())
