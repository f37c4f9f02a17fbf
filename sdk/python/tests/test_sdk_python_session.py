# SPDX-License-Identifier: Apache-2.0
"""`cloche.PythonSession` and `cloche.aio.PythonSession`. Needs a build with Python. With $CLOCHE_TEST_IMAGE the same in sandboxes of
the linux engine, made of that image, whose python3 is this one: tests/native/program_test.cc runs that."""
import asyncio
import os
import sys
import tempfile
import threading
import unittest
from pathlib import Path

import cloche
from cloche import PythonSession, _callbacks, aio

ROOTFS = os.environ.get("CLOCHE_ROOTFS", "")
PATIENCE_MS = 600_000
IMAGE = os.environ.get("CLOCHE_TEST_IMAGE", "")
ENGINE = {"engine": "linux", "image": IMAGE} if IMAGE else {}
has_python = unittest.skipUnless(IMAGE or not ROOTFS or Path(ROOTFS, "python.wasm").exists(), "this system has no Python")
has_steps = unittest.skipIf(IMAGE and sys.version_info < (3, 12), "steps and traces want Python 3.12")
has_images = unittest.skipIf(IMAGE, "a linux sandbox's Python has no images")


class Sessions(unittest.TestCase):
    def session(self, **options) -> PythonSession:
        session = PythonSession(**{"timeout_ms": PATIENCE_MS, **ENGINE, **options})
        self.addCleanup(session.close)
        return session


@has_python
class Executing(Sessions):
    def test_what_an_execution_gives(self) -> None:
        session = self.session()
        result = session.execute("import sys\nprint('out')\nprint('err', file=sys.stderr)\n{'a': [1, None]}")
        self.assertEqual((result.stdout, result.stderr), ("out\n", "err\n"))
        self.assertEqual((result.result, result.value), ("{'a': [1, None]}", {"a": [1, None]}))
        self.assertGreater(result.peak_memory_bytes, 1 << 20)
        self.assertIsNone(result.steps)
        self.assertIsNone(session.execute("x = 1").result)
        opaque = session.execute("object")
        self.assertEqual((opaque.result, opaque.value), ("<class 'object'>", None))
        self.assertEqual(session.execute("import sys; sys.exit(3)").exit_code, 3)
        self.assertEqual(session.execute("x").value, 1)
        with self.assertRaises(TypeError):
            session.execute(b"x")  # type: ignore[arg-type]

    def test_an_exception_is_one_here_too(self) -> None:
        session = self.session()
        with self.assertRaises(cloche.ExecutionError) as caught:
            session.execute("print('before')\ndef f():\n    raise KeyError('k')\n\nf()")
        error = caught.exception
        self.assertEqual((error.type, error.message, error.line), ("KeyError", "'k'", 3))
        self.assertEqual(str(error), "KeyError: 'k'")
        self.assertTrue(error.traceback.startswith("Traceback (most recent call last):"), error.traceback)
        self.assertEqual((error.result.stdout, error.result.stderr), ("before\n", ""))
        self.assertIsNone(error.limit)
        with self.assertRaises(cloche.ExecutionError) as caught:
            session.execute("a b")
        self.assertEqual((caught.exception.type, caught.exception.line), ("SyntaxError", 1))
        self.assertEqual(session.execute("6 * 7").value, 42)

    def test_output_comes_as_it_is_written(self) -> None:
        out, err = [], []
        session = self.session(on_stdout=out.append, on_stderr=err.append)
        result = session.execute("import os\nfor i in range(3):\n    print(i)\nos.write(2, 'é'.encode())")
        self.assertEqual((result.stdout, "".join(out)), ("0\n1\n2\n", "0\n1\n2\n"))
        self.assertEqual((result.stderr, "".join(err)), ("é", "é"))

    def test_a_handler_that_fails_ends_the_execution(self) -> None:
        def fail(text: str) -> None:
            raise ZeroDivisionError(text)

        session = self.session(on_stdout=fail)
        with self.assertRaises(ZeroDivisionError):
            session.execute("print('x')\nwhile True: pass")
        self.assertEqual(session.execute("1 + 1").value, 2)

    @has_steps
    def test_tracing(self) -> None:
        events = []
        session = self.session(on_trace=events.append)
        result = session.execute("def double(n):\n    return 2 * n\ndouble(21)")
        self.assertEqual((result.value, result.stdout), (42, ""))
        said = [(event.line, event.event["type"]) for event in events]
        self.assertIn((2, "line"), said)
        returned = [event for event in events if event.event["type"] == "return" and event.line == 2]
        self.assertIn("42", str(returned[0].context))
        with self.assertRaises(TypeError):
            self.session(trace_files="*.py")

    def test_figures_are_asked_for(self) -> None:
        self.assertEqual(self.session().execute("1", figures=True).figures, [])


@has_python
class Callbacks(Sessions):
    def test_functions_of_this_process(self) -> None:
        def add(a: int, b: int = 1) -> int:
            """Adds."""
            return a + b

        async def later(text: str) -> dict:
            await asyncio.sleep(0)
            return {"text": text.upper()}

        def fail() -> None:
            raise LookupError("nothing there")

        session = self.session(callbacks={"math.add": add, "later": later, "fail": fail})
        result = session.execute("import asyncio\nawait asyncio.gather(math.add(a=2), math.add(2, 5), later(text='x'))")
        self.assertEqual((result.value, result.callback_count), ([3, 7, {"text": "X"}], 3))
        with self.assertRaises(cloche.ExecutionError) as caught:
            session.execute("await fail()")
        self.assertEqual((caught.exception.type, caught.exception.message), ("CallbackError", "nothing there"))
        names = session.execute("sorted(c['name'] for c in list_callbacks())").value
        self.assertEqual(names, ["fail", "later", "math.add"])
        session.add_callback(lambda: "new", "fresh")
        self.assertTrue(session.remove_callback("fail"))
        self.assertFalse(session.remove_callback("fail"))
        self.assertEqual(session.execute("await fresh()").value, "new")
        with self.assertRaises(cloche.ExecutionError):
            session.execute("await fail()")

    def test_executions_of_one_session_queue_with_callbacks_of_their_own(self) -> None:
        session = self.session()
        answers: dict = {}

        def run(name: str) -> None:
            other = PythonSession(sandbox=session.sandbox, timeout_ms=PATIENCE_MS, callbacks={"who": lambda: name})
            answers[name] = other.execute("await who()").value

        threads = [threading.Thread(target=run, args=(f"t{i}",)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(answers, {f"t{i}": f"t{i}" for i in range(8)})

    def test_limits_of_callbacks(self) -> None:
        never = threading.Event()
        self.addCleanup(never.set)
        with self.assertRaises(cloche.ExecutionError) as caught:
            self.session(callbacks={"wait": never.wait}, callback_timeout_ms=1).execute("await wait()")
        self.assertEqual(caught.exception.type, "CallbackTimeout")
        with self.assertRaises(cloche.ExecutionLimitError) as limited:
            self.session(callbacks={"now": lambda: 1}, max_callbacks=2).execute("for i in range(3):\n    await now()")
        self.assertEqual(limited.exception.limit, "callbacks")
        with self.assertRaises(cloche.SandboxArgumentError):
            self.session(callbacks=["no function"])


@has_python
class Limits(Sessions):
    def assert_limit(self, limit: str, code: str, **options) -> cloche.ExecutionLimitError:
        session = self.session(**options)
        session.execute("kept = 'here'")
        with self.assertRaises(cloche.ExecutionLimitError) as caught:
            session.execute(code)
        self.assertEqual(caught.exception.limit, limit)
        self.assertEqual(caught.exception.result.session_alive, True)
        self.assertEqual(session.execute("kept").value, "here")
        return caught.exception

    def test_each_of_them(self) -> None:
        with self.subTest("cpu"):
            self.assert_limit("cpuTime", "while True: pass", cpu_time_ms=200)
        with self.subTest("memory"):
            self.assert_limit("memory", "x = bytearray(1 << 29)", max_memory_bytes=256 << 20)
        with self.subTest("output"):
            error = self.assert_limit("output", "while True: print('x' * 100)", max_output_bytes=1000,
                                      stop_at_output_limit=True)
            self.assertTrue(error.result.truncated)

    @has_steps
    def test_steps(self) -> None:
        error = self.assert_limit("steps", "while True: pass", max_steps=10_000)
        self.assertEqual(error.result.steps, 10_000)

    def test_output_that_is_dropped(self) -> None:
        result = self.session(max_output_bytes=10).execute("print('x' * 100)")
        self.assertEqual((result.stdout, result.truncated), ("x" * 10, True))

    def test_time(self) -> None:
        session = self.session()
        session.execute("x = 1")
        with self.assertRaises(cloche.ExecutionTimeoutError) as caught:
            session.execute("while True: pass", timeout_ms=100)
        self.assertIsInstance(caught.exception, TimeoutError)
        self.assertEqual(caught.exception.limit, "time")
        self.assertEqual(session.execute("x").value, 1)

    def test_cancel(self) -> None:
        began = threading.Event()
        session = self.session(on_stdout=lambda _: began.set())
        session.execute("x = 1")
        caught: list = []

        def run() -> None:
            try:
                session.execute("print('began', flush=True)\nwhile True: pass")
            except cloche.ExecutionCancelledError as error:
                caught.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        began.wait()
        session.cancel()
        thread.join()
        self.assertEqual(len(caught), 1)
        self.assertEqual(session.execute("x").value, 1)

    def test_an_interpreter_that_is_gone(self) -> None:
        session = self.session()
        session.execute("x = 1")
        with self.assertRaises(cloche.InterpreterEndedError) as caught:
            session.execute("import os\nos._exit(7)")
        self.assertEqual((caught.exception.result.exit_code, caught.exception.result.session_alive), (7, False))
        with self.assertRaises(cloche.ExecutionError) as afresh:
            session.execute("x")
        self.assertEqual(afresh.exception.type, "NameError")


@has_python
class States(Sessions):
    def test_names_go_to_another_session(self) -> None:
        session = self.session()
        session.execute("import math\ndef area(r): return math.pi * r * r\nblob = bytes(range(256))")
        state = session.snapshot_state()
        self.assertEqual(state.left_out, {})
        other = self.session()
        other.execute("mine = 1")
        other.restore_state(state)
        self.assertEqual(other.execute("(round(area(1), 2), len(blob), mine)").value, [3.14, 256, 1])
        other.clear_state()
        with self.assertRaises(cloche.ExecutionError):
            other.execute("mine")
        other.restore_state(state.data)
        self.assertEqual(other.execute("len(blob)").value, 256)

    def test_what_cannot_be_kept(self) -> None:
        session = self.session()
        session.execute("import threading\nlock = threading.Lock()\nx = 1")
        with self.assertRaises(ValueError) as caught:
            session.snapshot_state()
        self.assertIn("lock", str(caught.exception))
        state = session.snapshot_state(leave_out=True)
        self.assertEqual(list(state.left_out), ["lock"])
        with self.assertRaises(cloche.SandboxError):
            session.snapshot_state(leave_out=True, max_bytes=1)
        for damaged in (b"", b"nonsense", state.data[:-1], state.data[:20] + b"?" + state.data[21:]):
            with self.assertRaises(ValueError):
                session.restore_state(damaged)
        self.assertEqual(session.execute("x").value, 1)

    def test_a_fork_goes_on_from_here(self) -> None:
        session = self.session(callbacks={"who": lambda: "both"})
        session.execute("x = [1]")
        with session.fork() as twin:
            twin.execute("x.append(await who())")
            self.assertEqual(twin.execute("x").value, [1, "both"])
        self.assertEqual(session.execute("x").value, [1])

    @has_images
    def test_a_checkpoint_is_where_others_start(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            image = Path(folder, "made.image")
            session = self.session()
            session.execute("import json\nx = 'kept'")
            session.checkpoint(image)
            session.execute("x = 'changed'")
            session.restore(image)
            self.assertEqual(session.execute("x").value, "kept")
            self.assertEqual(self.session(image=image).execute("json.dumps(x)").value, '"kept"')
            Path(folder, "none").write_bytes(b"none")
            with self.assertRaises(cloche.SandboxError):
                session.restore(Path(folder, "none"))
            with self.assertRaises(cloche.SandboxError):
                session.restore(Path(folder, "absent"))
            self.assertEqual(session.execute("x").value, "kept")

    def test_a_session_in_a_sandbox_that_is_there(self) -> None:
        with cloche.Sandbox(timeout_ms=PATIENCE_MS, **ENGINE) as sbx:
            sbx.files.write("data.txt", "text")
            with PythonSession(sandbox=sbx) as session:
                self.assertEqual(session.execute("open('data.txt').read()").value, "text")
            self.assertTrue(sbx.is_alive)
            with self.assertRaises(cloche.SandboxArgumentError):
                PythonSession(sandbox=sbx, packages=["numpy"])


@has_python
class Awaited(unittest.TestCase):
    def test_a_loop_that_has_closed_is_told(self) -> None:
        async def nothing() -> None:
            """Never called."""

        loop = asyncio.new_event_loop()
        loop.close()
        told = []
        _callbacks.Callbacks([nothing], "s1", loop).answer("callback.invoke", {"name": "nothing"}, told.append,
                                                lambda text, kind: told.append(kind))
        self.assertEqual(told, ["RuntimeError"])

    def test_whatever_ends_a_callback_is_told(self) -> None:
        def leave() -> None:
            sys.exit(3)

        async def stop() -> None:
            raise asyncio.CancelledError("stopped")

        async def main() -> None:
            told = []
            callbacks = _callbacks.Callbacks([leave, stop], "s1", asyncio.get_running_loop())
            for name in ("leave", "stop"):
                callbacks.answer("callback.invoke", {"name": name}, told.append, lambda text, kind: told.append(kind))
            while len(told) < 2:
                await asyncio.sleep(0.001)
            self.assertEqual(sorted(told), ["CancelledError", "SystemExit"])

        asyncio.run(main())

    def test_the_same_for_asyncio(self) -> None:
        async def main() -> None:
            parts, events = [], []

            async def put(text: str) -> None:
                await asyncio.sleep(0)
                parts.append(text)

            async def double(n: int) -> int:
                await asyncio.sleep(0)
                return 2 * n

            tracing = {} if IMAGE and sys.version_info < (3, 12) else {"on_trace": events.append}
            async with aio.PythonSession(timeout_ms=PATIENCE_MS, on_stdout=put, callbacks=[double], **tracing,
                                         **ENGINE) as session:
                result = await session.execute("print('x')\nawait double(n=21)")
                self.assertEqual((result.value, result.stdout, "".join(parts)), (42, "x\n", "x\n"))
                self.assertEqual(bool(events), bool(tracing))
                state = await session.snapshot_state()
                with self.assertRaises(cloche.ExecutionError):
                    await session.execute("1/0")
                async with await session.fork() as twin:
                    await twin.execute("y = 1")
                    await twin.clear_state()
                    await twin.restore_state(state)
                task = asyncio.create_task(session.execute("print('began')\nwhile True: pass"))
                while "".join(parts).count("began") == 0:
                    await asyncio.sleep(0.001)
                task.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await task
                self.assertEqual((await session.execute("6 * 7")).value, 42)
            session = await aio.PythonSession.create(timeout_ms=PATIENCE_MS, **ENGINE)
            self.assertEqual((await session.execute("1")).value, 1)
            await session.close()

        asyncio.run(main())


if __name__ == "__main__":
    unittest.main()
