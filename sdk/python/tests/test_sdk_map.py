# SPDX-License-Identifier: Apache-2.0
"""One function in many sandboxes, and what of it is shown."""
import asyncio
import io
import sys
import threading
import types
import unittest
from unittest import mock

from cloche import (CommandResult, ExecutionResult, Figure, FileInfo, HistoryEntry, Sandbox, SandboxError, aio, map_sandboxes)
from cloche._table import Table, records_table


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def number_of(sandbox: Sandbox, number: int) -> int:
    return int(sandbox.commands.run(f"echo {number}").stdout)


class Map(unittest.TestCase):
    def test_results_are_in_the_order_of_the_items(self) -> None:
        self.assertEqual(map_sandboxes(number_of, range(30), workers=4), list(range(30)))
        self.assertEqual(map_sandboxes(number_of, []), [])

    def test_each_has_a_sandbox_of_its_own(self) -> None:
        lines = map_sandboxes(lambda sbx, _: sbx.commands.run("echo x >> f; wc -l < f").stdout.strip(), range(10),
                              workers=2, env={"A": "b"})
        self.assertEqual(lines, ["1"] * 10)

    def test_forks_go_on_from_their_base(self) -> None:
        with Sandbox() as base:
            base.commands.run("echo base > f")
            base.python.execute("x = 41")
            both = map_sandboxes(lambda sbx, n: (sbx.commands.run(f"echo {n} >> f; cat f").stdout,
                                                 sbx.python.execute(f"x + {n}").result), range(4), base=base)
            self.assertEqual(both, [(f"base\n{n}\n", str(41 + n)) for n in range(4)])
            self.assertEqual(base.files.read("f"), b"base\n")
            with self.assertRaisesRegex(TypeError, "packages"):
                map_sandboxes(number_of, [1], base=base, packages=["numpy"])

    def test_the_first_exception_ends_the_others(self) -> None:
        waits = threading.Event()
        calls = []

        def call(sandbox: Sandbox, item: int) -> None:
            calls.append(item)
            if item == 0:
                waits.wait(60)
                raise KeyError("first")
            waits.set()
            sandbox.commands.run("sleep 1000", timeout_ms=0)

        with self.assertRaises(KeyError):
            map_sandboxes(call, range(10), workers=2)
        self.assertLess(len(calls), 10)

    def test_exceptions_as_results(self) -> None:
        def call(sandbox: Sandbox, item: str) -> bytes:
            return sandbox.files.read(item)

        one, other = map_sandboxes(call, ["/etc/passwd", "/no/such"], return_exceptions=True)
        self.assertIsInstance(one, bytes)
        self.assertIsInstance(other, SandboxError)

    def test_progress_is_told(self) -> None:
        told = []
        map_sandboxes(number_of, range(5), progress=lambda done, total: told.append((done, total)))
        self.assertEqual(told, [(done, 5) for done in range(1, 6)])
        with self.assertRaises(ValueError):
            map_sandboxes(number_of, [1], workers=0)


class Bars(unittest.TestCase):
    def drawn(self, module, progress=None, terminal=True) -> str:
        with mock.patch.dict(sys.modules, {"tqdm.auto": module}), \
                mock.patch.object(sys, "stderr", Terminal() if terminal else io.StringIO()) as shown:
            map_sandboxes(number_of, range(3), progress=progress, label="numbers")
        return shown.getvalue()

    def test_a_line_without_tqdm(self) -> None:
        line = self.drawn(None)
        self.assertIn("3/3", line)
        self.assertIn("numbers", line)
        self.assertIn("[" + "#" * 30 + "]", line)
        self.assertEqual(self.drawn(None, progress=False), "")
        self.assertEqual(self.drawn(None, terminal=False), "")
        self.assertIn("3/3", self.drawn(None, progress=True, terminal=False))

    def test_tqdm_where_it_is_installed(self) -> None:
        bars = []

        class Bar:
            def __init__(self, total: int, desc: str) -> None:
                bars.append([total, desc, 0, False])

            def update(self, count: int) -> None:
                bars[-1][2] += count

            def close(self) -> None:
                bars[-1][3] = True

        module = types.ModuleType("tqdm.auto")
        module.tqdm = Bar
        self.assertEqual(self.drawn(module), "")
        self.assertEqual(bars, [[3, "numbers", 3, True]])


class Awaited(unittest.TestCase):
    def test_map(self) -> None:
        async def call(sandbox: aio.Sandbox, number: int) -> int:
            return int((await sandbox.commands.run(f"echo {number}")).stdout)

        async def main() -> None:
            told = []
            numbers = await aio.map_sandboxes(call, range(20), workers=4, progress=lambda done, total: told.append(done))
            self.assertEqual((numbers, told), (list(range(20)), list(range(1, 21))))
            async with aio.Sandbox() as base:
                await base.files.write("f", "base")
                self.assertEqual(await aio.map_sandboxes(lambda sbx, _: sbx.files.read("f"), [0, 1], base=base), [b"base"] * 2)

        asyncio.run(main())

    def test_an_exception_cancels_the_others(self) -> None:
        async def call(sandbox: aio.Sandbox, number: int) -> None:
            if number == 0:
                raise KeyError("first")
            await sandbox.commands.run("sleep 1000", timeout_ms=0)

        with self.assertRaises(KeyError):
            asyncio.run(aio.map_sandboxes(call, range(4), workers=4))

        async def both() -> list:
            async def fail(sandbox: aio.Sandbox, number: int) -> int:
                return 1 // number
            return await aio.map_sandboxes(fail, [1, 0], return_exceptions=True)

        one, other = asyncio.run(both())
        self.assertEqual(one, 1)
        self.assertIsInstance(other, ZeroDivisionError)


class Notebook(unittest.TestCase):
    HOSTILE = "<script>alert(1)</script>"

    def test_lists_are_tables_and_lists(self) -> None:
        with Sandbox() as sandbox:
            sandbox.files.write("/tmp/d/" + self.HOSTILE.replace("/", "_"), b"")
            files = sandbox.files.list("/tmp/d")
            self.assertIn("<th>name</th>", files._repr_html_())
            self.assertIn("&lt;script&gt;", files._repr_html_())
            self.assertNotIn("<script>", files._repr_html_())
            self.assertEqual(files, [FileInfo(self.HOSTILE.replace("/", "_"), "file", 0)])
            self.assertIn("<th>mode</th>", sandbox.files.list_details("/tmp/d")._repr_html_())
            sandbox.commands.run("true")
            self.assertIn("<td>true</td>", sandbox.commands.history()._repr_html_())
        self.assertIsNone(Table()._repr_html_())
        many = Table(HistoryEntry(n, "x" * 5000, 0, 0, 0) for n in range(300))._repr_html_()
        self.assertEqual(many.count("<tr>"), 201)
        self.assertIn("100 more", many)
        self.assertLess(len(many), 400_000)

    def test_records_are_tables(self) -> None:
        shown = ExecutionResult("out", "err", result="[...]", value=[{"a": 1, "b": self.HOSTILE}, {"a": 2, "c": None}])._repr_html_()
        self.assertIn("<th>a</th><th>b</th><th>c</th>", shown)
        self.assertIn("<pre>out</pre>", shown)
        self.assertNotIn("<script>", shown)
        self.assertIn("<pre>&#x27;x&#x27;</pre>", ExecutionResult("", "", result="'x'", value="x")._repr_html_())
        self.assertIn("done in 3 ms", ExecutionResult("", "", execution_time_ms=3)._repr_html_())
        for value in (None, 1, [], [1], {"a": 1}, [{}, 1]):
            self.assertIsNone(records_table(value))

    def test_figures_are_pictures(self) -> None:
        png, svg = Figure(b"png"), Figure(b"<svg>", "image/svg+xml")
        self.assertEqual((png._repr_png_(), svg._repr_png_()), (b"png", None))
        self.assertEqual(png._repr_mimebundle_()["image/png"], "cG5n")
        self.assertIn('<img src="data:image/png;base64,cG5n">', CommandResult("", "", 0, 1, figures=[png])._repr_html_())
        self.assertIn('<img src="data:image/png;base64,cG5n">', ExecutionResult("", "", figures=[png])._repr_html_())


if __name__ == "__main__":
    unittest.main()
