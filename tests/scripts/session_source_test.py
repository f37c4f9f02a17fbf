# SPDX-License-Identifier: Apache-2.0
"""How a session compiles source text: apart, where that is the same as by a tree, and it is the very same code.

    session_source_test.py SOURCE
"""
import ast
import importlib.util
import pathlib
import random
import sys
import unittest
import warnings

SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
_spec = importlib.util.spec_from_file_location("source", SOURCE / "userland/python/lib/_cloche/sessions/source.py")
source = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(source)
FLAGS = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT

# Texts that look like something else.
ODD = [
    "print(1)", "x = 5", "a; b", "print(1);", "import os; os.getcwd()", "os.getcwd(); import os", "*a, b", "x := 5", "(x := 5)",
    "'a\nb'", "'''a\nb'''", "f(\nx=5)", "f(\nx = 5)", "[x\nfor x in y]", "yield 1", "await x", "lambda: 1", "lambda x=5: x",
    "  1", "\t1", " x = 1", "", "\n", "   ", "# c", "# c\nprint(1)", "print(1)\n# c\n", "print(1) # c", "x=1\nx", "x=1\\\n+2",
    "x\\\n", "1 \\\n", "\\\n1", "if a:\n  b", "if a:\n  b\nc", "if a: b\nelse: c", "if 1: 2", "try:\n a\nexcept B:\n c\nf()",
    "@dec\ndef f(): pass", "@dec\nf()", "'doc'", "'doc'\nprint(1)", "from __future__ import annotations\nx", "a=='b'", "a!='b'",
    "a<=b", "f(a=1)", "f(a=1)==2", "x[1]=2", "d['k'] = f(1)", "x: int", "x: int = 5", "del x", "not x", "None", "True",
    "print(1)\n\n\n", "\n\nprint(1)", "\"\"\"\nx\n\"\"\"", "\"\"\"\nx # \"\"\"", "\"\"\"\nx = 5 # \"\"\"", "x = '''\nfoo()\n'''\nfoo()",
    "f('''\n1 # ''')", "{\n'a':1\n}", "{'a':1,\n'b':2}", "(1,\n2)", "a = (1,\n2)", "class A: pass\nA", "match x:\n  case 1: pass",
    "match(x)", "type(x)", "type X = int", "print 1", "1 +", "a\n b", "x = y = 5", "x += 1", "x\n=5", "(\nx\n)", "f'''{x}'''",
    "\ufeffprint(1)", "a\0b", "é = 1", "é", "print('é')\nprint('é')", "1\n;2", "return 5", "async def f(): pass\nawait f()",
    "for i in a:\n  pass\nelse:\n  x\ny", "'a' \\\n'b'", "a.b\n.c()", "(a\n.b\n.c())", "...", "-1", "a?b", "\n\n  \n1", "1\n\t\n",
    "x\r\ny", "x\ry", "x\f\ny", "global x\nx",
]


def facts(code):
    """All that tells one code object from another; the elements of sets have no order."""
    if code is None:
        return None
    constants = [facts(each) if hasattr(each, "co_code") else (type(each), sorted(map(repr, each)) if isinstance(each, frozenset) else
                                                               repr(each)) for each in code.co_consts]
    return (code.co_code, code.co_names, code.co_varnames, code.co_flags, code.co_name, code.co_filename, code.co_firstlineno,
            list(code.co_lines()), list(code.co_positions()) if hasattr(code, "co_positions") else None, constants)


def outcome(compiler, text):
    try:
        return compiler(text, "<session-1>", FLAGS)
    except (SyntaxError, ValueError) as error:
        return error


class CompiledApart(unittest.TestCase):
    def setUp(self):
        self.apart = 0
        warnings.simplefilter("ignore")

    def check(self, text):
        by_tree = outcome(source._compiled_by_tree, text)
        apart = source._compiled_apart(text, "<session-1>", FLAGS)
        if apart is not None:
            self.apart += 1
            self.assertNotIsInstance(by_tree, Exception, text)
            self.assertEqual([facts(code) for code in apart], [facts(code) for code in by_tree], text)
        told = outcome(source.compile_source, text)
        if isinstance(by_tree, Exception):
            self.assertEqual((type(told), str(told)), (type(by_tree), str(by_tree)), text)
        else:
            self.assertEqual([facts(code) for code in told], [facts(code) for code in by_tree], text)

    def test_odd_texts(self):
        for text in ODD:
            self.check(text)

    def test_pieces_of_programs(self):
        draw = random.Random(4)
        files = sorted(SOURCE.glob("tests/**/*.py")) + sorted(SOURCE.glob("userland/python/lib/**/*.py"))
        for file in files:
            lines = file.read_text(encoding="utf-8").split("\n")
            for _ in range(12):
                count = draw.choice([1, 1, 2, 3, 5, 8, 20])
                first = draw.randrange(max(1, len(lines) - count))
                part = lines[first:first + count]
                indent = len(part[0]) - len(part[0].lstrip())
                if draw.random() < 0.8:
                    part = [line[indent:] if line[:indent].isspace() else line for line in part]
                text = "\n".join(part)
                if draw.random() < 0.1:
                    at = draw.randrange(len(text) + 1)
                    text = text[:at] + draw.choice(["\\\n", '"""', "\n", "(", ")", "'", "#", ";", "=", " ", "\t"]) + text[at:]
                self.check(text)
        self.assertGreater(self.apart, 200)

    def test_what_agents_send_is_compiled_apart(self):
        for text in ["print(1)", "x = f(1)", "import os", "import numpy as np\na = np.arange(3)\na.sum()", "# why\ndf.head()",
                     "for i in range(3):\n    print(i)\nprint('done')\n", "await f()"]:
            self.assertIsNotNone(source._compiled_apart(text, "<session-1>", FLAGS), text)


if __name__ == "__main__":
    unittest.main()
