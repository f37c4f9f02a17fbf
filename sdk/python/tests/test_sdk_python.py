# SPDX-License-Identifier: Apache-2.0
"""Python in a sandbox, from the SDK. Needs a build with Python."""
import asyncio
import dataclasses
import enum
import functools
import os
import subprocess
import sys
import threading
import unittest
from pathlib import Path
from typing import Callable, Dict, List, Literal, Optional, Tuple, TypedDict

import cloche
from cloche import aio

ROOTFS = os.environ.get("CLOCHE_ROOTFS", "")


@dataclasses.dataclass
class Shape:
    name: str
    inner: "Optional[Shape]" = None


class Plain(TypedDict, total=False):
    a: int


@unittest.skipUnless(not ROOTFS or Path(ROOTFS, "python.wasm").exists(), "this system has no Python")
class Python(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.sbx = cloche.Sandbox(timeout_ms=600_000)
        cls.addClassCleanup(cls.sbx.kill)

    def test_names_stay(self) -> None:
        self.sbx.python.execute("x = 6", check=True)
        result = self.sbx.python.execute("print(x * 7)")
        self.assertEqual((result.stdout, result.exit_code), ("42\n", 0))
        with self.sbx.fork() as twin:
            twin.python.execute("x = 1")
            self.assertEqual(self.sbx.python.execute("print(x)").stdout, "6\n")

    def test_errors(self) -> None:
        result = self.sbx.python.execute("def f():\n    raise KeyError('k')\nf()")
        self.assertEqual(result.exit_code, 1)
        self.assertIn("KeyError: 'k'", result.stderr)
        with self.assertRaises(cloche.CommandError):
            self.sbx.python.execute("1/0", check=True)
        self.assertEqual(self.sbx.python.execute("print('on')").stdout, "on\n")

    def test_the_last_expression(self) -> None:
        self.assertEqual(self.sbx.python.execute("[1, 2]").result, "[1, 2]")
        self.assertIsNone(self.sbx.python.execute("None").result)

    def test_streaming(self) -> None:
        parts = []
        self.sbx.python.execute("for i in range(3):\n    print(i)", on_stdout=parts.append)
        self.assertEqual("".join(parts), "0\n1\n2\n")

    def test_callbacks(self) -> None:
        def add(a: int, b: int = 1) -> int:
            """Adds."""
            return a + b

        def fail() -> None:
            raise ValueError("no")

        async def later(text: str) -> dict:
            await asyncio.sleep(0.01)
            return {"text": text.upper()}

        result = self.sbx.python.execute(
            "print(await add(a=2), await add(a=2, b=5), await later(text='x'))\n"
            "try:\n    await fail()\nexcept Exception as error:\n    print(error)\n",
            callbacks=[add, fail, later])
        self.assertEqual((result.stdout, result.stderr), ("3 7 {'text': 'X'}\nno\n", ""))

    def test_whatever_a_callback_does_is_told_to_the_code(self) -> None:
        class Mute(Exception):
            def __str__(self) -> str:
                raise KeyError

        def raises(error: BaseException) -> Callable[[], None]:
            def callback() -> None:
                raise error
            return callback

        nested: list[object] = []
        for _ in range(200):
            nested = [nested]
        code = "try:\n    await whatever()\nexcept Exception as error:\n    print(type(error).__name__)"
        for callback in (raises(KeyboardInterrupt()), raises(GeneratorExit()), raises(Mute()), lambda: nested,
                         lambda: 10 ** 400, lambda: {1: 1, "1": 2}, lambda: "\ud800", lambda: float("nan")):
            result = self.sbx.python.execute(code, callbacks={"whatever": callback}, timeout_ms=0)
            self.assertEqual((result.stdout, result.stderr), ("CallbackError\n", ""))

    def test_callbacks_that_hang_hold_up_nobody_else(self) -> None:
        with cloche.Sandbox() as other:
            go = threading.Event()
            self.addCleanup(go.set)
            result = self.sbx.python.execute("import asyncio\nawait asyncio.gather(*[wait() for _ in range(40)])",
                                             callbacks={"wait": lambda: go.wait()}, timeout_ms=500)
            self.assertEqual(result.exit_code, 124)
            self.assertEqual(other.python.execute("await f()", callbacks={"f": lambda: 1}, timeout_ms=0).result, "1")

    def test_a_callback_that_hangs_keeps_no_process(self) -> None:
        program = ("import cloche, threading\nwith cloche.Sandbox() as sbx:\n"
                   "    print(sbx.python.execute('await f()', callbacks={'f': lambda: threading.Event().wait()}, timeout_ms=100).exit_code)")
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120,
                              env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
        self.assertEqual((done.stdout, done.returncode), ("124\n", 0), done.stderr)

    def test_a_function_that_calls_the_sandbox(self) -> None:
        with cloche.Sandbox() as other:
            result = self.sbx.python.execute(
                "print(await shell(command='echo inner'))",
                callbacks={"shell": lambda command: other.commands.run(command).stdout})
            self.assertEqual(result.stdout, "inner\n\n")

    def test_a_function_that_calls_its_own_sandbox(self) -> None:
        result = self.sbx.python.execute(
            "try:\n    await shell(command='echo inner')\nexcept Exception as error:\n    print(error)",
            callbacks={"shell": lambda command: self.sbx.commands.run(command).stdout})
        self.assertIn("this sandbox is busy", result.stdout)

    def test_schemas_of_hints(self) -> None:
        class Colour(enum.Enum):
            RED = "red"

        def paint(shape: Shape, colour: Colour, tags: List[Dict[str, int]], size: Optional[int] = None,
                  mode: Literal["fast", "slow"] = "fast", at: Tuple[int, str] = (1, "a"), *, opt: Plain = {}) -> object:
            return [type(shape).__name__, shape.inner.name if shape.inner else "", colour is Colour.RED, tags, size, mode, at, opt]

        paint.__annotations__["colour"] = Colour  # a local class is no name that hints are evaluated with
        code = ("async def tell(**more):\n"
                "    try:\n"
                "        print(await paint(**{'shape': {'name': 'a', 'inner': {'name': 'b'}}, 'colour': 'red', 'tags': []} | more))\n"
                "    except TypeError as error:\n"
                "        print(error)\n"
                "await tell(opt={'a': 1}, at=[2, 'b'])\n"
                "await tell(colour='blue')\n"
                "await tell(tags=[{'n': 'x'}])\n"
                "await tell(shape={'inner': None})\n"
                "await tell(size='big')\n"
                "await tell(mode='other')\n"
                "await tell(at=[1])\n"
                "await tell(opt={'b': 1})\n"
                "await tell(what=1)\n")
        result = self.sbx.python.execute(code, callbacks=[paint])
        first, *rest = result.stdout.splitlines()
        self.assertEqual(first, "['Shape', 'b', True, [], None, 'fast', [2, 'b'], {'a': 1}]", result.stderr)
        for line, name in zip(rest, ("colour", "tags", "name", "size", "mode", "at", "b", "what")):
            self.assertIn(name, line)
        self.assertEqual(len(rest), 8)

    def test_what_is_no_callback(self) -> None:
        def many(*values: int) -> None:
            pass

        for functions in ([many], [3], [functools.partial(many)], {"a b": many}):
            with self.assertRaises(TypeError):
                self.sbx.python.execute("1", callbacks=functions)  # type: ignore[arg-type]
        result = self.sbx.python.execute("await odd()", callbacks={"odd": lambda: float("nan")})
        self.assertIn("is no JSON", result.stderr)

    def test_time_limit_keeps_the_server(self) -> None:
        self.assertEqual(self.sbx.python.execute("while True: pass", timeout_ms=300).exit_code, 124)
        self.assertEqual(self.sbx.python.execute("print('on')").stdout, "on\n")

    def test_packages(self) -> None:
        listed = self.sbx.packages.list()
        self.assertIn("numpy", listed.available)
        with self.assertRaises(RuntimeError):
            self.sbx.packages.install("nonesuch")
        self.sbx.packages.install("numpy")
        self.assertIn("numpy", self.sbx.packages.list().installed)
        self.assertEqual(self.sbx.python.execute("import numpy; print(numpy.arange(3).sum())").stdout, "3\n")

    def test_figures_are_pictures(self) -> None:
        with cloche.Sandbox(packages=["matplotlib"], timeout_ms=600_000) as sbx:
            result = sbx.python.execute("import matplotlib.pyplot as plt\nplt.plot([1, 4, 2]);", check=True)
            self.assertEqual(result.stderr, "")
            self.assertEqual(len(result.figures), 1)
            self.assertTrue(result.figures[0].data.startswith(b"\x89PNG"))
            self.assertIn("image/png", result.figures[0]._repr_mimebundle_())
            self.assertIn("<img", result._repr_html_())
            self.assertEqual(sbx.python.execute("1").figures, [])
            shown = sbx.commands.run(
                "python3 -c 'import matplotlib.pyplot as p; p.plot([1, 4]); p.show()'", check=True)
            self.assertEqual([f.path for f in shown.figures], ["/workspace/.cloche/figures/figure-1.png"])
            self.assertEqual(shown.figures[0].data, sbx.files.read(str(shown.figures[0].path)))
            self.assertIn("<img", shown._repr_html_())
            self.assertEqual(sbx.commands.run("true").figures, [])


@unittest.skipUnless(not ROOTFS or Path(ROOTFS, "python.wasm").exists(), "this system has no Python")
class AsyncPython(unittest.IsolatedAsyncioTestCase):
    async def test_callbacks_run_side_by_side_in_the_loop(self) -> None:
        at_once = most = 0

        async def slow(i: int) -> int:
            nonlocal at_once, most
            at_once += 1
            most = max(most, at_once)
            await asyncio.sleep(0.2)
            at_once -= 1
            return i

        async with aio.Sandbox(timeout_ms=600_000) as sbx:
            result = await sbx.python.execute(
                "import asyncio\nprint(await asyncio.gather(*[slow(i=i) for i in range(5)]))", callbacks=[slow])
            self.assertEqual((result.stdout, result.stderr), ("[0, 1, 2, 3, 4]\n", ""))
            self.assertGreater(most, 1)


if __name__ == "__main__":
    unittest.main()
