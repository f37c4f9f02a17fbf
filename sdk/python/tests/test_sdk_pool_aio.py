# SPDX-License-Identifier: Apache-2.0
"""Pools without Ray, awaited, and by TLS."""
import asyncio
import concurrent.futures
import pickle
import unittest

from cloche import PoolFull, Sandbox, SandboxLost, ServerError
from cloche._pool.address import Address
from cloche._pool.web import Web
from test_sdk_pool import TOKEN, PoolTest, until


class Tls(PoolTest):
    def test_calls_go_by_tls_to_the_cell_whose_certificate_is_known(self) -> None:
        self.start("a", "--tls-self-signed")
        address = self.directory.addresses["a"]
        self.assertRegex(address.url, r"^https://127\.0\.0\.1:[0-9]+#sha256=[0-9a-f]{64}$")
        with self.pool.create() as sandbox:
            self.assertEqual(sandbox.commands.run("echo here").stdout, "here\n")
            self.assertEqual(len(self.pool.fork(sandbox, 3)), 3)
            there = pickle.loads(pickle.dumps(sandbox))
            self.assertEqual(there.commands.run("echo again").stdout, "again\n")
        with Sandbox(url=address.url, token=TOKEN) as sandbox:
            self.assertEqual(sandbox.commands.run("echo here").stdout, "here\n")

    def test_many_calls_at_once_have_a_connection(self) -> None:
        self.start("a", "--tls-self-signed")
        text = "x" * 20_000
        with self.pool.create() as sandbox, concurrent.futures.ThreadPoolExecutor(6) as threads:
            made = threads.map(lambda i: sandbox.commands.run(f"echo {i} {text}").stdout, range(60))
            self.assertEqual(list(made), [f"{i} {text}\n" for i in range(60)])

    def test_nobody_else_is_told_the_token(self) -> None:
        self.start("a", "--tls-self-signed")
        url = self.directory.addresses["a"].url
        other = url[:-1] + ("0" if url[-1] != "0" else "1")
        with self.assertRaisesRegex(ServerError, "another certificate"):
            Sandbox(url=other, token=TOKEN)
        with self.assertRaisesRegex(ServerError, "certificate verify failed"):
            Sandbox(url=url.partition("#")[0], token=TOKEN)
        self.directory.addresses["a"] = Address("a", other, "other")
        with self.assertRaisesRegex(SandboxLost, "another certificate"):
            self.pool.create(timeout=1)
        metrics = Web(url, TOKEN)._ask("GET", "/metrics", None, {}, 5.0)[1].decode()
        self.assertNotIn('cloche_http_requests_total{method="POST"', metrics)
        self.assertNotIn("cloche_sessions_total{", metrics)


class Awaited(PoolTest):
    def setUp(self) -> None:
        super().setUp()
        self.start("a")
        self.aio = self.pool.aio

    def test_it_is_the_same_awaited(self) -> None:
        async def use() -> None:
            async with await self.aio.create(env={"A": "b"}, metadata={"job": 1}) as sandbox:
                self.assertEqual((sandbox.node_id, sandbox.is_alive), ("a", True))
                self.assertEqual(self.sessions("a")[sandbox.session_id]["metadata"], {"job": 1})
                self.assertEqual((await sandbox.commands.run("echo $A")).stdout, "b\n")
                await sandbox.files.write("f", b"kept")
                twins = await self.aio.fork(sandbox, 3)
                self.assertEqual(await asyncio.gather(*[twin.files.read("f") for twin in twins]), [b"kept"] * 3)
                twin = await sandbox.fork()
                there = pickle.loads(pickle.dumps(twin))
                self.assertEqual((await there.commands.run("cat f")).stdout, "kept")
                handle = await sandbox.commands.start("read line; echo got $line")
                await handle.write("it\n")
                self.assertEqual((await handle.wait()).exit_code, 0)
                await twin.kill()
                await twin.kill()
                for one in twins:
                    await one.kill()
            self.assertFalse(sandbox.is_alive)

        asyncio.run(use())
        until(lambda: not self.sessions("a"), "all have ended")

    def test_many_at_once(self) -> None:
        async def one(number: int) -> str:
            async with await self.aio.create() as sandbox:
                return (await sandbox.commands.run(f"echo {number}")).stdout

        async def all_of_them() -> "list[str]":
            return list(await asyncio.gather(*[one(number) for number in range(100)]))

        self.assertEqual(asyncio.run(all_of_them()), [f"{number}\n" for number in range(100)])

    def test_coroutine_functions_are_commands_of_a_sandbox_and_its_forks(self) -> None:
        async def use() -> None:
            async def twice(word: str) -> str:
                await asyncio.sleep(0)
                return word * 2

            async with await self.aio.create(commands=[twice]) as sandbox:
                twin = await sandbox.fork()
                said = [(await one.commands.run("twice ab")).stdout for one in (sandbox, twin)]
                self.assertEqual(said, ["abab\n"] * 2)
                await twin.kill()

        asyncio.run(use())

    def test_of_what_is_cancelled_nothing_is_left(self) -> None:
        async def use() -> None:
            for pause_s in (0, 0, 0.001, 0.002, 0.005, 0.01, 0.02):
                task = asyncio.ensure_future(self.aio.create())
                await asyncio.sleep(pause_s)
                task.cancel()
                try:
                    await (await task).kill()
                except asyncio.CancelledError:
                    pass

        asyncio.run(use())
        until(lambda: not self.sessions("a"), "all have ended")

    def test_losses_and_a_full_pool_are_told(self) -> None:
        async def use() -> None:
            sandbox = await self.aio.create()
            with self.assertRaises(TypeError):
                await self.aio.create(no_such_option=1)
            self.kill_cell("a")
            with self.assertRaises(SandboxLost):
                await sandbox.commands.run("true")
            self.hosts["a"].stop()
            with self.assertRaises(SandboxLost):
                await self.aio.create(timeout=0.2)
            self.start("b", "--max-sessions", "1")
            del self.directory.addresses["a"]
            async with await self.aio.create():
                with self.assertRaises(PoolFull):
                    await self.aio.create(timeout=0.2)

        asyncio.run(use())


if __name__ == "__main__":
    unittest.main()
