# SPDX-License-Identifier: Apache-2.0
"""`Sandbox(commands=...)`: functions of this process that are programs in a sandbox, waiting and awaited."""
import asyncio
import enum
import gc
import json
import threading
import time
import unittest
from typing import Annotated, List, Literal, Optional

import cloche
from cloche import CommandCall, aio


def upper(call: CommandCall) -> int:
    """Makes letters large."""
    for line in call.stdin:
        call.stdout.write(line.upper())
    return 3


def search(query: str, *, limit: int = 2, kind: Literal["name", "text"] = "name", exact: bool = False,
           tags: Annotated[Optional[List[str]], "only with these"] = None) -> list:
    """Searches the archive."""
    return [query, limit, kind, exact, tags]


class Size(enum.Enum):
    SMALL = "small"
    LARGE = "large"


class Waiting(unittest.TestCase):
    def sandbox(self, commands, **options) -> cloche.Sandbox:
        sandbox = cloche.Sandbox(commands=commands, **options)
        self.addCleanup(sandbox.kill)
        return sandbox

    def test_a_function_is_a_program(self) -> None:
        sbx = self.sandbox([upper])
        result = sbx.commands.run("printf 'a\\nb\\n' | upper | tail -1; echo ${PIPESTATUS[1]}; which upper; upper --help")
        self.assertEqual(result.stdout, "B\n3\n/usr/local/bin/upper\nMakes letters large.\n")
        self.assertEqual(sbx.commands.run("for i in 1 2 3; do echo $i | upper; done | cat -n").stdout.split(), ["1", "1", "2", "2", "3", "3"])
        self.assertEqual(sbx.python.execute("import subprocess; subprocess.run('upper', input=b'x', capture_output=True).stdout").result, "b'X'")

    def test_what_it_is_given(self) -> None:
        sbx = self.sandbox({"tell": lambda call: json.dumps([call.name, call.args, call.cwd, call.env["WORD"], call.ended])})
        self.assertEqual(json.loads(sbx.commands.run("cd /tmp; WORD=é tell 'a b' ''").stdout), ["tell", ["a b", ""], "/tmp", "é", False])

    def test_what_it_returns(self) -> None:
        def pieces(call):
            yield "a"
            yield b"\xff"

        def leave(call):
            raise SystemExit("no more")

        def fail(call):
            print("so far", file=call.stdout)
            raise KeyError("x")

        sbx = self.sandbox({"text": lambda call: "text", "whole": lambda call: "line\n", "nothing": lambda call: "", "data": lambda call: b"\0\xff",
                            "four": lambda call: 4, "none": lambda call: None, "value": lambda call: {"é": [1, None]}, "truth": lambda call: True,
                            "pieces": pieces, "leave": leave, "fail": fail})
        result = sbx.commands.run("text; whole; nothing; data | od -An -tx1; four; echo $?; none; echo $?; value; truth; pieces | od -An -tx1; leave; echo $?; fail; echo $?")
        self.assertEqual(result.stdout, "text\nline\n 00 ff\n4\n0\n{\"é\": [1, null]}\ntrue\n 61 ff\n1\nso far\n1\n")
        self.assertEqual(result.stderr, "no more\nfail: KeyError: 'x'\n")

    def test_whatever_it_raises_ends_it(self) -> None:
        class Mute(Exception):
            def __str__(self) -> str:
                raise KeyError

        def raises(kind):
            def command() -> None:
                raise kind
            return command

        with cloche.Sandbox(commands={"a": raises(KeyboardInterrupt), "b": raises(GeneratorExit), "c": raises(Mute)}) as sbx:
            result = sbx.commands.run("a; echo $?; b; echo $?; c; echo $?", timeout_ms=0)
            self.assertEqual(result.stdout, "1\n1\n1\n")
            self.assertIn("c: Mute: <its message could not be made>", result.stderr)

    def test_arguments_by_a_signature(self) -> None:
        def resize(path: str, *more: int, size: Size = Size.SMALL, keep: bool = True, depth: float = 0.5) -> str:
            return f"{path} {more} {size} {keep} {depth}"

        sbx = self.sandbox({"search": search, "resize": resize, "nothing": lambda: "called"})
        self.assertEqual(json.loads(sbx.commands.run("search 'a b' --limit 7 --kind=text --exact --tags x --tags y").stdout), ["a b", 7, "text", True, ["x", "y"]])
        self.assertEqual(json.loads(sbx.commands.run("search q").stdout), ["q", 2, "name", False, None])
        self.assertEqual(sbx.commands.run("resize p 1 2 --size large --no-keep --depth 2").stdout, "p (1, 2) Size.LARGE False 2.0\n")
        self.assertEqual(sbx.commands.run("nothing").stdout, "called\n")
        for command in ("search", "search a b", "search a --limit x", "search a --kind z", "search a --nonesuch", "nothing x"):
            result = sbx.commands.run(command)
            self.assertEqual(result.exit_code, 2, command)
            self.assertTrue(result.stderr.startswith("usage: "), result.stderr)
        help_text = sbx.commands.run("search --help").stdout
        for words in ("usage: search", "Searches the archive.", "--limit LIMIT", "only with these"):
            self.assertIn(words, help_text)

    def test_bytes_both_ways(self) -> None:
        def copy(call):
            while data := call.stdin.read(100_000):
                call.stdout.write(data)

        sbx = self.sandbox({"copy": copy}, timeout_ms=300_000)
        result = sbx.commands.run("head -c 10000000 /dev/urandom > a; copy < a | tee b | copy | cmp - a && cmp a b && echo same; copy < /dev/null | wc -c")
        self.assertEqual(result.stdout, "same\n0\n", result.stderr)

    def test_both_ways_at_the_same_time(self) -> None:
        def talk(call):
            done = threading.Event()

            def listen():
                for line in call.stdin:
                    call.stderr.write(line)
                done.set()

            threading.Thread(target=listen).start()
            for i in range(3):
                print(i, file=call.stdout)
            done.wait()

        sbx = self.sandbox({"talk": talk})
        with sbx.commands.start("talk") as command:
            output = iter(command)
            self.assertEqual(next(output).stream, "stdout")
            command.write("heard\n")
            while next(output) != ("stderr", "heard\n"):
                pass
            command.close_stdin()
            self.assertEqual(command.wait().exit_code, 0)

    def test_who_nobody_waits_for_is_told(self) -> None:
        seen, ended = [], threading.Event()
        begun = threading.Event()

        def endless(call):
            try:
                while True:
                    call.stdout.write("line\n")
            except cloche.CancelledError as error:
                seen.append((call.ended, error.errno_name))
                raise
            finally:
                ended.set()

        def silent(call):
            begun.set()
            try:
                call.stdin.read()
            except cloche.CancelledError:
                seen.append("silent")
                ended.set()

        sbx = self.sandbox({"endless": endless, "silent": silent})
        self.assertEqual(sbx.commands.run("endless | head -2; echo ${PIPESTATUS[0]}").stdout, "line\nline\n141\n")
        self.assertTrue(ended.wait(60))
        self.assertEqual(seen, [(True, "ECANCELED")])
        ended.clear()
        with sbx.commands.start("silent") as command:
            self.assertTrue(begun.wait(60))
            command.kill(15)
            self.assertEqual(command.wait().status, "signaled")
        self.assertTrue(ended.wait(60))
        self.assertEqual(seen[1:], ["silent"])
        self.assertEqual(sbx.commands.run("echo on").stdout, "on\n")

    def test_a_write_that_fails(self) -> None:
        seen = []

        def fill(call):
            try:
                while True:
                    call.stdout.write(b"x" * 10_000)
            except OSError as error:
                seen.append(type(error))
                raise

        result = self.sandbox({"fill": fill}).commands.run("fill > /dev/full")
        self.assertEqual((result.exit_code, seen), (1, [cloche.SandboxFullError]))
        self.assertIn("fill: ENOSPC", result.stderr)

    def test_calls_run_side_by_side(self) -> None:
        together = threading.Barrier(40, timeout=120)

        def meet(call):
            together.wait()

        self.assertEqual(self.sandbox({"meet": meet}).commands.run("for i in {1..40}; do meet & done; wait; echo met").stdout, "met\n")

    def test_it_cannot_use_the_sandbox_that_waits_for_it(self) -> None:
        sbx = self.sandbox({"again": lambda call: sbx.commands.run("true")})
        self.assertIn("this sandbox is busy", sbx.commands.run("again").stderr)

    def test_forks_snapshots_and_states(self) -> None:
        sbx = self.sandbox({"name": lambda call: "first"})
        moment = sbx.snapshot()
        with sbx.fork() as twin:
            sbx.commands.serve({"name": lambda call: "second"})
            self.assertEqual((twin.commands.run("name").stdout, sbx.commands.run("name").stdout), ("first\n", "second\n"))
        state = sbx.export()
        sbx.load(state)
        self.assertEqual(sbx.commands.run("name").stdout, "second\n")
        sbx.restore(moment)
        self.assertEqual(sbx.commands.run("name").stdout, "second\n")
        bare = self.sandbox(None)
        bare.load(state)
        self.assertEqual(bare.commands.run("name").exit_code, 127)
        bare.commands.serve({"name": lambda call: "third"})
        self.assertEqual(bare.commands.run("name").stdout, "third\n")
        bare.commands.serve({})
        self.assertEqual(bare.commands.run("name").exit_code, 127)

    def test_what_is_no_command(self) -> None:
        for commands in ({"ls": upper}, {"cd": upper}, {"a b": upper}):
            with self.assertRaises(cloche.SandboxError):
                cloche.Sandbox(commands=commands)
        for commands in ({"a": 7}, [lambda call: None, 7], {"a": lambda **options: None}):
            with self.assertRaises(TypeError):
                cloche.Sandbox(commands=commands)

    def test_a_sandbox_that_is_forgotten_ends(self) -> None:
        sbx = cloche.Sandbox(commands=[upper])
        server = sbx._link.server
        server_id = sbx.id
        del sbx
        gc.collect()
        for _ in range(1000):  # another thread sees to it
            if server.answerer_of(server_id) is None:
                break
            time.sleep(0.01)
        self.assertIsNone(server.answerer_of(server_id))


class Awaited(unittest.TestCase):
    def test_coroutine_functions_run_in_the_loop(self) -> None:
        async def run() -> None:
            loop = asyncio.get_running_loop()

            async def upper(call: aio.CommandCall):
                assert asyncio.get_running_loop() is loop
                async for line in call.stdin:
                    await call.stdout.write(line.upper())
                await call.stderr.write("done\n")
                return 4

            async def numbers(limit: int):
                for i in range(limit):
                    yield f"{i}\n"
                    await asyncio.sleep(0)

            async def whole(call):
                return await call.stdin.read()

            async def fail(call):
                raise ValueError("no")

            def plain(call):
                return str(threading.current_thread() is threading.main_thread())

            async with aio.Sandbox(commands={"upper": upper, "numbers": numbers, "whole": whole, "fail": fail, "plain": plain}) as sbx:
                result = await sbx.commands.run("printf 'a\\nb' | upper; echo $?; numbers 3 | tac; echo x | whole; fail; echo $?; plain")
                self.assertEqual(result.stdout, "A\nB4\n2\n1\n0\nx\n1\nFalse\n")
                self.assertEqual(result.stderr, "done\nfail: ValueError: no\n")
                result = await sbx.commands.run("numbers x; echo $?")
                self.assertEqual(result.stdout, "2\n")
                self.assertEqual((await sbx.commands.run("head -c 3000000 /dev/zero | whole | wc -c")).stdout.strip(), "3000000")

        asyncio.run(run())

    def test_a_call_that_ends_cancels_its_task(self) -> None:
        async def run() -> None:
            begun, ended = asyncio.Event(), asyncio.Event()

            async def silent(call):
                begun.set()
                try:
                    await asyncio.sleep(1000)
                except asyncio.CancelledError:
                    ended.set()
                    raise

            async with aio.Sandbox(commands={"silent": silent}) as sbx:
                async with await sbx.commands.start("silent"):
                    await asyncio.wait_for(begun.wait(), 60)
                await asyncio.wait_for(ended.wait(), 60)
                await sbx.commands.serve({"other": lambda: "other"})
                async with await sbx.fork() as twin:
                    self.assertEqual((await twin.commands.run("other; silent")).exit_code, 127)

        asyncio.run(run())

    def test_coroutine_functions_of_one_that_waits(self) -> None:
        async def later(call):
            await asyncio.sleep(0)
            return call.args

        with cloche.Sandbox(commands=[later]) as sbx:
            self.assertEqual(sbx.commands.run("later x").stdout, "[\"x\"]\n")


if __name__ == "__main__":
    unittest.main()
