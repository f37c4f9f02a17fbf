# SPDX-License-Identifier: Apache-2.0
"""`Commands.start`: commands that one talks with, waiting and awaited."""
import asyncio
import threading
import unittest

import cloche
from cloche import aio
from cloche._live import LiveOutput
from cloche.command_handle import CommandHandle


class Started(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.sbx = cloche.Sandbox()
        cls.addClassCleanup(cls.sbx.kill)

    def test_output_comes_as_it_is_printed(self) -> None:
        with self.sbx.commands.start("while read line; do echo \"got $line\"; done; echo last >&2; exit 3") as command:
            self.assertTrue(command.is_running)
            output = iter(command)
            for word in ("one", "two"):
                command.write(word + "\n")
                self.assertEqual(next(output), ("stdout", f"got {word}\n"))
            command.close_stdin()
            self.assertEqual(list(output), [("stderr", "last\n")])
            result = command.wait()
        self.assertEqual((result.exit_code, result.stdout, result.status), (3, "", "exited"))
        self.assertFalse(command.is_running)
        self.assertEqual(command.wait(timeout=0).exit_code, 3)

    def test_what_was_not_iterated_over_is_in_the_result(self) -> None:
        command = self.sbx.commands.start("echo $A; pwd; echo e >&2", cwd="/tmp", env={"A": "1"})
        result = command.wait()
        self.assertEqual((result.stdout, result.stderr, result.exit_code), ("1\n/tmp\n", "e\n", 0))

    def test_one_that_ends_meanwhile_is_no_error(self) -> None:
        # Its server may know it no more before it has told of the end: the handle has not heard of it then.
        ended = self.sbx.commands.start("true")
        ended.wait()
        for act in (CommandHandle.close_stdin, CommandHandle.kill):
            handle = CommandHandle(ended._link, ended.number, LiveOutput())
            self.assertTrue(handle.is_running)
            act(handle)
            with self.assertRaises(cloche.SandboxError):
                act(CommandHandle(ended._link, -1, LiveOutput()))

    def test_writing_to_one_that_has_ended_is_a_broken_pipe(self) -> None:
        ended = self.sbx.commands.start("true")
        ended.wait()
        with self.assertRaises(BrokenPipeError):
            ended.write("x")

    def test_bytes_of_any_number(self) -> None:
        with self.sbx.commands.start("wc -c") as command:
            command.write(b"\0\xff" * 2_000_000)
            command.write(bytearray(b"x"))
            command.write("é")
            command.close_stdin()
            self.assertEqual(command.wait().stdout.strip(), "4000003")

    def test_characters_are_whole(self) -> None:
        with self.sbx.commands.start("printf '\\303'; sleep 0.05; printf '\\251'; printf '\\342\\202'") as command:
            self.assertEqual(command.wait().stdout, "é\ufffd")

    def test_it_runs_beside_others_and_is_killed(self) -> None:
        with self.sbx.commands.start("trap 'echo term; exit 9' TERM; echo on; while :; do sleep 0.01; done") as command:
            self.assertEqual(next(iter(command)).text, "on\n")
            self.assertEqual(self.sbx.commands.run("echo beside").stdout, "beside\n")
            with self.assertRaises(TimeoutError):
                command.wait(timeout=0)
            command.kill(15)
            self.assertEqual((command.wait().exit_code, command.wait().stdout), (9, "term\n"))
        with self.sbx.commands.start("sleep 1000") as sleeping:
            pass
        self.assertEqual((sleeping.wait().status, sleeping.wait().exit_code), ("killed", 137))
        sleeping.kill()
        sleeping.close_stdin()

    def test_limits_and_errors(self) -> None:
        self.assertEqual(self.sbx.commands.start("sleep 1000", timeout_ms=10).wait().status, "timedOut")
        ended = self.sbx.commands.start("exec 0<&-; echo closed; sleep 1000")
        next(iter(ended))
        with self.assertRaises(cloche.SandboxError):
            while True:
                ended.write(b"x" * 100_000)
        ended.kill()
        with self.assertRaises(TypeError):
            self.sbx.commands.start(["ls"])  # type: ignore[arg-type]
        with self.sbx.commands.start("sleep 1000") as sleeping, self.assertRaises(ValueError):
            sleeping.kill(99)

    def test_many_at_once(self) -> None:
        commands = [self.sbx.commands.start(f"echo {i}; read x; echo $x") for i in range(20)]
        for i, command in enumerate(commands):
            command.write(f"said {i}\n")
        self.assertEqual([command.wait().stdout for command in commands], [f"{i}\nsaid {i}\n" for i in range(20)])

    def test_a_sandbox_that_ends(self) -> None:
        sandbox = cloche.Sandbox()
        command = sandbox.commands.start("echo on; sleep 1000")
        next(iter(command))
        waited: list = []
        thread = threading.Thread(target=lambda: waited.append(command.wait().exit_code))
        thread.start()
        sandbox.kill()
        command.kill()
        thread.join()
        self.assertEqual(waited, [137])


class Awaited(unittest.IsolatedAsyncioTestCase):
    async def test_the_same_for_asyncio(self) -> None:
        async with aio.Sandbox() as sbx:
            async with await sbx.commands.start("while read line; do echo \"got $line\"; done; exit 3") as command:
                output = command.__aiter__()
                await command.write("one\n")
                self.assertEqual(await output.__anext__(), ("stdout", "got one\n"))
                waiting = asyncio.ensure_future(command.wait())
                await command.write("two\n")
                await command.close_stdin()
                self.assertEqual([chunk.text async for chunk in output], ["got two\n"])
                self.assertEqual((await waiting).exit_code, 3)
            await aio.CommandHandle(command._link, command.number, LiveOutput(), asyncio.Event()).close_stdin()
            command = await sbx.commands.start("echo on; sleep 1000")
            with self.assertRaises(TimeoutError):
                await command.wait(timeout=0.01)
            await command.kill()
            result = await command.wait()
            with self.assertRaises(BrokenPipeError):
                await command.write("x")
            self.assertEqual((result.stdout, result.exit_code), ("on\n", 137))
            several = await asyncio.gather(*(sbx.commands.start(f"echo {i}") for i in range(10)))
            self.assertEqual([(await one.wait()).stdout for one in several], [f"{i}\n" for i in range(10)])


if __name__ == "__main__":
    unittest.main()
