# SPDX-License-Identifier: Apache-2.0
"""Code that is put into another module: it calls what that has, is called by it, and has data, table and stack with it.

    wasm_link_test.py SOURCE
"""

import ast
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib
import unittest

SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.append(str(SOURCE / "userland/python"))
sys.path.append(str(SOURCE / "userland/build"))

import common  # noqa: E402
import wasm_link  # noqa: E402
from wasm_module import CALL, GET, Module, PatchError, encode, encode_signed  # noqa: E402

BASE = """
static volatile int kept = 5;
__attribute__((noinline)) int twice(int x) { volatile int y[4]; y[x & 3] = x; return y[x & 3] + x; }
__attribute__((noinline)) int slow(int a, int b) { return a * 1000 + b + kept; }
__attribute__((noinline)) int call(int (*f)(int), int x) { return f(x); }
int first(void) { return call(twice, 21); }
int second(void) { return slow(3, 4); }
int third(void) { return call((int (*)(int))(long)THIRD, 7); }
int fourth(void) { return call((int (*)(int))(long)FOURTH, 7); }
"""
ADDED = """
int twice(int);
int call(int (*)(int), int);
extern int theirs;
static int counts[3] = {10, 20, 30};
static int zero[1000];
int *where = &theirs;
static int mine(int x) { volatile int room[64]; room[x] = counts[x % 3]; zero[x]++; return room[x] + twice(x) + zero[x] + zero[999]; }
int added(int x) { return call(mine, x) + *where + theirs; }
int fast(int a, int b) { return a * 100 + b + mine(1); }
"""


def compiled(folder, name, text, *options, defines=()):
    (folder / f"{name}.c").write_text(text)
    subprocess.run([common.tool("clang"), "--target=wasm32-unknown-unknown", "-O1", *defines, "-c", f"{name}.c", "-o", f"{name}.o"],
                   cwd=folder, check=True)
    subprocess.run([common.tool("wasm-ld"), "--no-entry", *options, f"{name}.o", "-o", f"{name}.wasm"], cwd=folder, check=True)
    return (folder / f"{name}.wasm").read_bytes()


class Linking(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def base(self, third=1, fourth=1):
        exports = [f"--export={name}" for name in ("first", "second", "third", "fourth")]
        return Module(bytearray(compiled(self.folder, "base", BASE, *exports, "--stack-first", "-zstack-size=1024",
                                         defines=(f"-DTHIRD={third}", f"-DFOURTH={fourth}"))))

    def linked(self, module, text=ADDED, names=("added", "fast"), table=None):
        base = module.pages() << 16
        return compiled(self.folder, "added", text, "--import-memory", "--import-table", f"--table-base={table or module.table_size()}",
                        f"--global-base={base}", "-zstack-size=16", "--emit-relocs", "--import-undefined", "--unresolved-symbols=ignore-all",
                        *(f"--export={name}" for name in names))

    def results(self, content):
        """What each function without parameters gives, by an interpreter that also checks the module."""
        (self.folder / "whole.wasm").write_bytes(content)
        said = subprocess.run(["wasm-opt", "--fuzz-exec", "--enable-mutable-globals", "--enable-sign-ext", "--enable-bulk-memory",
                               "--enable-nontrapping-float-to-int", "whole.wasm", "-o", "checked.wasm"],
                              cwd=self.folder, check=True, capture_output=True, text=True).stdout
        return {name: int(value) for name, value in re.findall(r"note result: (\w+) => (-?\d+)", said)}

    def test_added_code_works_with_the_modules_own(self):
        module = self.base()
        size = module.table_size()
        before = self.results(bytes(module.data))
        self.assertEqual((before["first"], before["second"]), (42, 3009))
        # The places in the table are known before: what calls them is compiled with them.
        module = self.base(third=size + 1, fourth=size + 1)
        theirs = next(base for base, at, length in module.segments() if bytes(module.data[at:at + 4]) == b"\5\0\0\0")
        pages, functions = module.pages(), module.functions()
        added = wasm_link.append(module, self.linked(module), {"theirs": theirs}.__getitem__)
        self.assertEqual(sorted(added.functions), ["added", "fast"])
        self.assertEqual(added.table["added"], size + 1)  # behind the function whose address the code itself takes
        module.change("slow", b"\0" + GET + b"\0" + GET + b"\1" + CALL + encode(added.functions["fast"]) + b"\x0b")
        whole = module.written()
        again = Module(bytearray(whole))
        self.assertGreater(again.pages(), pages)
        self.assertEqual(again.table_size(), size + 3)
        self.assertEqual({again.index(name) for name in ("mine", "added", "fast")}, set(range(functions, again.functions())))
        results = self.results(whole)
        self.assertEqual(results["first"], 42)
        self.assertEqual(results["second"], 304 + 20 + 2 + 1)
        self.assertEqual(results["third"], 20 + 14 + 1 + 5 + 5)
        self.assertEqual(results["fourth"], results["third"] + 1)

    def test_a_function_goes_on_as_a_copy_under_what_takes_its_place(self):
        module = self.base()
        copy = module.copied(module.index("twice"), "twice")
        module.change("twice", b"\0" + GET + b"\0" + CALL + encode(copy) + b"\x41\x01\x6a\x0b")
        whole = module.written()
        self.assertEqual(Module(bytearray(whole)).index("twice.copied"), copy)
        self.assertEqual(self.results(whole)["first"], 43)  # by its place in the table

    def test_imported_functions_are_called_too(self):
        importing = """__attribute__((import_module("host"), import_name("door"))) int door(int, long long);
int first(int x) { return door(x, 1); }"""
        base = compiled(self.folder, "importing", importing, "--export=first", "--stack-first", "-zstack-size=1024", "--export-table")
        module = Module(bytearray(base))
        added = wasm_link.append(module, self.linked(module, "int door(int, long long); int f(int x) { return door(x, 2); }", ("f",)), {}.__getitem__)
        called = Module(bytearray(module.written()))
        self.assertEqual(added.functions["f"], called.index("f"))
        self.assertIn(CALL + encode(called.index("door")), called.body("f"))
        self.assertEqual(called.index("door"), 0)
        module = Module(bytearray(base))
        with self.assertRaisesRegex(PatchError, "door has other parameters"):
            wasm_link.append(module, self.linked(module, "int door(int); int f(int x) { return door(x); }", ("f",)), {}.__getitem__)

    def test_what_does_not_fit_is_refused(self):
        module = self.base()

        def address(name):
            raise PatchError(f"nothing is known of {name}")

        for text, names, table, reason in (
                (ADDED, ("added",), None, "nothing is known of theirs"),
                ("int lacking(int); int f(int x) { return lacking(x); }", ("f",), None, "0 functions lacking"),
                ("long long twice(int); long long f(int x) { return twice(x); }", ("f",), None, "twice has other parameters"),
                ("int twice(int); int x; __attribute__((constructor)) void begin(void) { x = twice(1); } int f(int y) { return x + y; }", ("f",), None, "constructors"),
                ("int call(int (*)(int), int); static int g(int x) { return x; } int f(int x) { return call(g, x); }", ("f",), 77, "begins at 77")):
            with self.subTest(reason), self.assertRaisesRegex(PatchError, reason):
                wasm_link.append(self.base(), self.linked(module, text, names, table), address)

    def test_numbers_are_written_as_they_are_read(self):
        from wasm_module import sleb
        for value in (0, 1, 63, 64, -1, 41943040, (1 << 31) - 1, -(1 << 31)):
            self.assertEqual(sleb(encode_signed(value), 0), (value, 5))


class Extensions(unittest.TestCase):
    def test_the_image_knows_the_modules_that_are_linked_in(self):
        def listed(name, file):
            found = re.search(rf"^{name} = (\([^()]*\))$", (SOURCE / "userland/python" / file).read_text(), re.M)
            return ast.literal_eval(found[1])

        recipes = [tomllib.loads((SOURCE / "userland/python" / name).read_text()) for name in ("extensions/extensions.toml", "rust/packages.toml")]
        of_packages = {name for recipe in recipes for part in recipe["part"].values() for name in part.get("modules", ())}
        told = listed("EXTENSIONS", "lib/_cloche/image/boot_image.py")
        self.assertEqual(sorted(told), sorted({*listed("MODULES", "extensions.py"), *of_packages}))


if __name__ == "__main__":
    unittest.main(verbosity=2)
