# SPDX-License-Identifier: Apache-2.0
"""The interpreter's own modules: rooms that import downwards only, no circle among all modules, and a page that names each.

    python_library_test.py SOURCE
"""

import ast
import graphlib
import pathlib
import re
import sys
import unittest

SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
LIBRARY = SOURCE / "userland/python/lib"
OWN = LIBRARY / "_cloche"
PAGE = SOURCE / "docs/python-replaced.md"


def name_of(path):
    parts = path.relative_to(LIBRARY).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def all_modules():
    return {name_of(path): path for path in LIBRARY.rglob("*.py")}


def imports_of(name, path, modules):
    """The modules of ours that one imports, at its head or within a function. A package that only leads to another does not count."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package.split(".")[:len(package.split(".")) - node.level + 1]) if node.level else ""
            base = ".".join(part for part in (base, node.module) if part)
            members = {f"{base}.{alias.name}" for alias in node.names}
            found |= members & modules.keys()
            if members - modules.keys():
                found.add(base)
    return {module for module in found if module in modules and module != name}


def rooms_of_the_map():
    """In the order of the package's own docstring."""
    text = ast.get_docstring(ast.parse((OWN / "__init__.py").read_text()))
    return re.findall(r"^(\w+) {2,}\S", text, re.MULTILINE)


def modules_of_the_page():
    """`room.module`, from the headings that name a room and the first column of the tables below them."""
    found, room = set(), None
    for line in PAGE.read_text().split("\n"):
        if line.startswith("## "):
            room = (re.findall(r"`(\w+)`", line) or [None])[0]
        elif line.startswith("| `") and room:
            found |= {f"{room}.{name}" for name in re.findall(r"`(\w+)`", line.split(" |")[0])}
    return found


class PythonLibrary(unittest.TestCase):
    def test_no_import_goes_round(self):
        modules = all_modules()
        self.assertGreater(len(modules), 40)
        graph = {name: imports_of(name, path, modules) for name, path in modules.items()}
        self.assertIn("_cloche.host.door", graph["_socket"])  # so the search does find imports
        try:
            graphlib.TopologicalSorter(graph).prepare()
        except graphlib.CycleError as error:
            self.fail("a circle of imports: " + " <- ".join(error.args[1]))

    def test_a_room_imports_from_those_above_it(self):
        rooms = rooms_of_the_map()
        self.assertEqual(sorted(rooms), sorted(folder.name for folder in OWN.iterdir() if (folder / "__init__.py").exists()))
        modules = {name: path for name, path in all_modules().items() if name.startswith("_cloche.")}
        for name, path in modules.items():
            for other in imports_of(name, path, modules):
                own, its = rooms.index(name.split(".")[1]), rooms.index(other.split(".")[1])
                self.assertLessEqual(its, own, f"{name} imports {other}, which is in a room below it")

    def test_the_page_names_each_module(self):
        there = {name.removeprefix("_cloche.") for name in all_modules() if name.count(".") == 2 and name.startswith("_cloche.")}
        self.assertEqual(modules_of_the_page(), there)

    def test_the_page_names_what_lies_beside_them(self):
        there = {name for name in all_modules() if "." not in name} - {OWN.name}
        _, _, text = PAGE.read_text().partition("\n## Whole modules")
        named = {name for line in text.split("\n") if line.startswith("| `") for name in re.findall(r"`(\w+)`", line.split(" |")[0])}
        self.assertEqual(named, there)


class ComponentLibrary(unittest.TestCase):
    def test_what_stands_in_has_what_is_used_of_it(self):
        """Modules of sessions that the component shares find there what they use of those that it has its own of."""
        build = (SOURCE / "userland/component/build.py").read_text()
        shared = ast.literal_eval(re.search(r"^SHARED = (\(.*?\))$", build, re.M | re.S)[1])
        own = SOURCE / "userland/component/lib/_cloche"
        held = 0
        for name in shared:
            tree = ast.parse((OWN / f"{name}.py").read_text())
            for node in ast.walk(tree):
                if not isinstance(node, ast.ImportFrom) or not node.level:
                    continue
                room = pathlib.Path(name).parent if node.level == 1 else pathlib.Path()
                for alias in node.names:
                    stand_in = own / room / (node.module or "").replace(".", "/") / f"{alias.name}.py"
                    if not stand_in.exists():
                        continue
                    there = self.names(ast.parse(stand_in.read_text()))
                    used = {part.attr for part in ast.walk(tree) if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name)
                            and part.value.id == (alias.asname or alias.name)}
                    held += len(used)
                    self.assertLessEqual(used, there, f"{name} uses of {alias.name} what the component's has not")
        self.assertGreater(held, 10)

    @staticmethod
    def names(tree):
        found = set()
        for node in tree.body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                found.add(node.name)
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                found |= {alias.asname or alias.name for alias in node.names}
            else:
                found |= {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
        return found


if __name__ == "__main__":
    unittest.main()
