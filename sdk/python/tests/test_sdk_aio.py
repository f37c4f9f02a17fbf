# SPDX-License-Identifier: Apache-2.0
"""The API for asyncio, against a real server."""
import asyncio
import os
import unittest

import cloche
from cloche import aio


class Aio(unittest.IsolatedAsyncioTestCase):
    async def test_commands_files_and_the_rest(self) -> None:
        async with aio.Sandbox(env={"A": "b"}) as sbx:
            self.assertEqual((await sbx.commands.run("echo $A")).stdout, "b\n")
            data = os.urandom(9_000_000)
            await sbx.files.write("/tmp/big", data)
            self.assertEqual(await sbx.files.read("/tmp/big"), data)
            self.assertEqual((await sbx.files.list("/tmp"))[0].size, len(data))
            with self.assertRaises(FileNotFoundError):
                await sbx.files.stat("/tmp/nonesuch")
            await sbx.env.set("C", "d")
            self.assertEqual(await sbx.env.get("C"), "d")
            moment = await sbx.snapshot()
            await sbx.files.rm("/tmp/big")
            await sbx.restore(moment)
            self.assertTrue(await sbx.files.exists("/tmp/big"))
            async with await sbx.fork() as twin:
                self.assertEqual((await twin.commands.run("ls /tmp")).stdout, "big\n")
        self.assertFalse(sbx.is_alive)
        await sbx.kill()

    async def test_who_has_a_part_of_a_sandbox_has_the_sandbox(self) -> None:
        async with aio.Sandbox() as keeper:
            self.assertEqual((await (await aio.Sandbox.create()).commands.run("echo hi")).stdout, "hi\n")
            self.assertEqual((await (await keeper.fork()).python.execute("1 + 1")).result, "2")

    async def test_many_at_once(self) -> None:
        async with aio.Sandbox() as keeper:
            async def one(i: int) -> str:
                async with await keeper.fork() as sbx:
                    return (await sbx.commands.run(f"echo {i}")).stdout
            self.assertEqual(await asyncio.gather(*[one(i) for i in range(50)]), [f"{i}\n" for i in range(50)])

    async def test_streaming_to_coroutines(self) -> None:
        parts = []

        async def put(text: str) -> None:
            await asyncio.sleep(0)
            parts.append(text)

        async with await aio.Sandbox.create() as sbx:
            result = await sbx.commands.run("echo a; echo b", on_stdout=put)
            self.assertEqual(("".join(parts), result.stdout), ("a\nb\n", "a\nb\n"))

    async def test_cancelling_a_task_cancels_the_command(self) -> None:
        async with aio.Sandbox() as sbx:
            started = asyncio.Event()
            task = asyncio.create_task(sbx.commands.run("echo up; sleep 1000", timeout_ms=0,
                                                        on_stdout=lambda _: started.set()))
            await asyncio.wait_for(started.wait(), 60)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            self.assertEqual((await sbx.commands.run("echo on")).stdout, "on\n")

    async def test_what_is_cancelled_leaves_nothing(self) -> None:
        async with aio.Sandbox() as keeper:
            server = keeper._there().server
            for make in (aio.Sandbox.create, keeper.fork, lambda: keeper.commands.start("sleep 1000")):
                for turns in range(1, 8):  # of the loop, before it is cancelled
                    task = asyncio.ensure_future(make())
                    for _ in range(turns):
                        await asyncio.sleep(0)
                    task.cancel()
                    made = (await asyncio.gather(task, return_exceptions=True))[0]
                    if not isinstance(made, BaseException):
                        await made.kill()

            for _ in range(1000):
                sandboxes = (await asyncio.wrap_future(server.submit("sandbox.list", {}).future))["sandboxes"]
                if len(sandboxes) == 1 and server._users == 1 and (await keeper.usage()).processes == 0:
                    break
                await asyncio.sleep(0.01)
            else:
                self.fail(f"there is still {sandboxes}, {await keeper.usage()}")

    async def test_one_that_was_not_started(self) -> None:
        sbx = aio.Sandbox()
        with self.assertRaises(RuntimeError):
            await sbx.cancel()
        await sbx.kill()

    async def test_check(self) -> None:
        async with aio.Sandbox() as sbx:
            with self.assertRaises(cloche.CommandError):
                await sbx.commands.run("false", check=True)


if __name__ == "__main__":
    unittest.main()
