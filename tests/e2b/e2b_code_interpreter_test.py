# SPDX-License-Identifier: Apache-2.0
"""The code interpreter of E2B's wire, asked by hand: contexts, cells, what they show, and how they end."""
import http.client
import json
import sys
import threading
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "http"))
sys.path.insert(0, str(Path(__file__).parent))
from e2b_wire_test import Box, WithServer  # noqa: E402
from server import PATIENCE_S, until  # noqa: E402

PORT = 49999


class Interpreter:
    def __init__(self, box):
        self.box = box

    def ask(self, method, path, body=None):
        status, _, content = self.box.server.ask(method, path, body, headers=self.box.headers(PORT))
        return status, content.decode()

    def json(self, method, path, body=None):
        status, text = self.ask(method, path, body)
        assert status == 200, text
        return json.loads(text)

    def events(self, code, **more):
        status, text = self.ask("POST", "/execute", {"code": code, "context_id": None, "language": None, "env_vars": None, **more})
        assert status == 200, text
        return [json.loads(line) for line in text.splitlines()]

    def run(self, code, **more):
        """(stdout, stderr, results, error)"""
        events = self.events(code, **more)
        assert events[0]["type"] == "number_of_executions" and events[-1] == {"type": "end_of_execution"}, events
        out, err = ("".join(e["text"] for e in events if e["type"] == kind) for kind in ("stdout", "stderr"))
        errors = [e for e in events if e["type"] == "error"]
        assert len(errors) <= 1, errors
        return out, err, [e for e in events if e["type"] == "result"], errors[0] if errors else None

    def value(self, code, **more):
        out, err, results, error = self.run(code, **more)
        assert error is None and len(results) == 1 and results[0]["is_main_result"], (out, err, results, error)
        return results[0]["text"]


class WithBox(WithServer):
    def setUp(self):
        self.box = Box(self.server)
        self.interpreter = Interpreter(self.box)

    def tearDown(self):
        self.box.rest("DELETE")


class Python(WithBox):
    def test_names_stay_and_the_last_expression_is_the_result(self):
        run, value = self.interpreter.run, self.interpreter.value
        self.assertEqual(run("x = 20\nprint('hi')"), ("hi\n", "", [], None))
        self.assertEqual(value("x + 1"), "21")
        self.assertEqual(value("_ + 1"), "22")
        self.assertEqual(value("'text'"), "text")
        self.assertEqual(run("x;"), ("", "", [], None))
        self.assertEqual(run("None"), ("", "", [], None))
        self.assertEqual(run(""), ("", "", [], None))
        self.assertEqual(value("import asyncio\nawait asyncio.sleep(0, 'awaited')"), "awaited")
        self.assertEqual(run("import sys\nsys.stderr.write('bad\\n')\nprint('ä€😀', end='')")[:2], ("ä€😀", "bad\n"))
        counts = [events[0]["execution_count"] for events in (self.interpreter.events("1"), self.interpreter.events("2"))]
        self.assertEqual(counts[1], counts[0] + 1)

    def test_errors_tell_of_the_cell_alone(self):
        _, _, results, error = self.interpreter.run("def f():\n    return 1 / 0\nf()")
        self.assertEqual((results, error["name"], error["value"]), ([], "ZeroDivisionError", "division by zero"))
        self.assertIn("return 1 / 0", error["traceback"])
        self.assertEqual(error["traceback"].count("File "), 2)
        self.assertEqual(self.interpreter.run("def f(:")[3]["name"], "SyntaxError")
        self.assertEqual(self.interpreter.run("raise SystemExit(3)")[3]["name"], "SystemExit")
        self.assertEqual(self.interpreter.value("'still ' + 'here'"), "still here")

    def test_what_a_cell_is_indented_by_is_no_part_of_it(self):
        self.assertEqual(self.interpreter.value("\n\n    x = 1\n    if x:\n        x += 1\n\n    x\n    "), "2")
        self.assertEqual(self.interpreter.run('  print("""a\n    b""")')[0], "a\n  b\n")
        self.assertEqual(self.interpreter.run("    1\n      2")[3]["name"], "IndentationError")

    def test_pictures_that_are_shown_or_saved_are_results(self):
        picture = "from PIL import Image\npicture = Image.new('RGB', (2, 2))\n"
        for more, count in [("picture.show()\nNone", 1), ("picture.save('/tmp/p.png')", 1), ("picture", 1), ("None", 0),
                            ("import io\npicture.save(io.BytesIO(), 'png')", 0)]:
            results = self.interpreter.run(picture + more)[2]
            self.assertEqual([r["png"].startswith("iVBORw0KGgo") for r in results], [True] * count, more)

    def test_what_is_no_python(self):
        run = self.interpreter.run
        self.assertEqual(run("!echo $0; pwd\nif True:\n    !echo inner >&2")[:2], ("/bin/bash\n/home/user\n", "inner\n"))
        self.assertEqual(run("names = !printf 'a\\nb\\n'\nprint(names)\n%cd /tmp\n!pwd")[0], "['a', 'b']\n/tmp\n/tmp\n")
        self.assertEqual(run("%%bash\necho $((6*7))")[0], "42\n")
        self.assertEqual(run("%nothing")[3]["name"], "UsageError")
        self.assertEqual(run("text = '''\n!echo no\n'''\nprint(text)")[0], "\n!echo no\n\n")
        self.assertEqual(run("here = %pwd\nprint(here)\n%timeit -n1 -r1 1 + 1")[0].split("\n")[0], "/tmp")
        self.assertEqual(run("open('/tmp/a.py', 'w').write('import sys; made = sys.argv[1:]');\n%run /tmp/a.py b c\nprint(made)")[0],
                         "['b', 'c']\n")
        self.assertEqual(run("%%html\n<i>")[2], [{"type": "result", "is_main_result": False, "html": "<i>\n".strip("\n")}])

    def test_values_of_python_are_put_into_commands(self):
        run = self.interpreter.run
        self.assertEqual(run("name = 'six'; n = 7\n!echo {name} $name {n:03d} {name.upper()}")[0], "six six 007 SIX\n")
        kept = "!echo '{\"a\":1}' {1,2} {x..z} '$n' $UNKNOWN ${n} {unknown} $((n + 1))"
        self.assertEqual(run(kept)[0], '{"a":1} 1 2 x y z $n {unknown} 1\n')
        self.assertEqual(run("%%bash\nn=1; echo $n {name}")[0], "1 {name}\n")

    def test_forms_of_values(self):
        _, _, results, error = self.interpreter.run(
            "from IPython.display import display, HTML\nimport pandas as pd\ndisplay(HTML('<b>'))\npd.DataFrame({'a': [1, 2]})")
        self.assertIsNone(error)
        shown, main = results
        self.assertEqual((shown["html"], shown["is_main_result"]), ("<b>", False))
        self.assertEqual((main["data"], main["is_main_result"]), ({"a": [1, 2]}, True))
        self.assertIn("<table", main["html"])
        self.assertEqual(self.interpreter.run("pd.DataFrame({('a', 'b'): [1]})")[2][0]["data"], {"('a', 'b')": [1]})
        both = "class Both:\n    def _repr_mimebundle_(self, include, exclude):\n        return {'text/latex': '$x$', 'own/kind': 1}\nBoth()"
        main = self.interpreter.run(both)[2][0]
        self.assertEqual((main["latex"], main["extra"]), ("$x$", {"own/kind": 1}))

    def test_what_json_has_not_costs_no_result(self):
        run = self.interpreter.run
        main = run("import pandas as pd\npd.DataFrame({'a': [1, None], 'b': [float('inf'), 2]})")[2][0]
        self.assertEqual(main["data"], {"a": [1, None], "b": [None, 2]})
        self.assertIn("NaN", main["text"])
        line = run("import matplotlib.pyplot as plt\nplt.plot([1, float('nan'), 3])\nplt.show()")[2][0]
        self.assertEqual([y for _, y in line["chart"]["elements"][0]["points"]], [1, None, 3])
        self.assertTrue(line["png"])
        self.assertEqual(run("from IPython.display import JSON\nJSON({'n': float('nan'), (1, 2): 3})")[2][0]["json"],
                         {"n": None, "(1, 2)": 3})
        self.assertEqual(run("raise ValueError('\\ud800')")[3]["name"], "ValueError")
        self.assertEqual(self.interpreter.value("type('T', (), {'__repr__': lambda self: '\\ud800'})()"), "?")
        self.assertEqual(run("class Mute(Exception):\n    def __str__(self): raise KeyError\nx = 1\nraise Mute")[3]["name"], "Mute")
        self.assertEqual(self.interpreter.value("x"), "1")

    def test_what_is_too_long_costs_no_result(self):
        run = self.interpreter.run
        main = run("import pandas as pd\npd.DataFrame({'a': range(1_000_000)})")[2][0]
        self.assertIn("<table", main["html"])
        self.assertNotIn("data", main)
        long = "class Long:\n    def _repr_html_(self): return 'x' * 9_000_000\n    def __repr__(self): return 'long'\nLong()"
        self.assertEqual(run(long)[2], [{"type": "result", "is_main_result": True, "text": "long"}])
        self.assertEqual(run("raise ValueError('\\1' * 20_000_000)")[3]["name"], "ValueError")
        self.assertEqual(run("raise ValueError('x' * 7_000_000)")[3]["value"], "x" * 7_000_000)  # answers of agents come so
        self.assertEqual(run("throw new TypeError('\\u0001'.repeat(20_000_000))", language="js")[3]["name"], "TypeError")
        _, err, results, error = run("display({'text/html': 10 ** 400}, raw=True)")
        self.assertEqual((results, error), ([], None))
        self.assertIn("is left out", err)

    def test_pictures_of_files(self):
        picture = "from PIL import Image as Pixels\nPixels.new('RGB', (2, 2)).save('/tmp/a.png')\nPixels.new('RGB', (2, 2)).save('/tmp/a.jpg')\n"
        run = self.interpreter.run
        self.assertIsNone(run(picture + "from IPython.display import Image")[3])
        self.assertTrue(run("Image('/tmp/a.png')")[2][0]["png"].startswith("iVBORw0KGgo"))
        jpeg = run("Image(filename='/tmp/a.jpg')")[2][0]
        self.assertTrue(jpeg["jpeg"].startswith("/9j/"))
        self.assertNotIn("png", jpeg)
        self.assertEqual(run("Image('https://a.test/b.png')")[2][0]["html"], '<img src="https://a.test/b.png"/>')

    def test_what_a_cell_starts_goes_on_while_it_awaits(self):
        run, value = self.interpreter.run, self.interpreter.value
        code = "import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    return 7\ntask = asyncio.create_task(f())\nawait task"
        self.assertEqual(value(code), "7")
        self.assertEqual(value("asyncio.run(f())"), "7")
        self.assertEqual(run("await asyncio.sleep(0)\n1 / 0")[3]["name"], "ZeroDivisionError")

    def test_figures_are_pictures_and_charts(self):
        plot = "import matplotlib.pyplot as plt\nplt.plot([1, 2], [3, 4], label='a')\nplt.title('T')\nplt.xlabel('time (s)')\n"
        out, _, results, error = self.interpreter.run(plot + "plt.show()\nprint('after')\nplt.bar(['u', 'v'], [1, 2])\nNone")
        self.assertIsNone(error)
        self.assertEqual((out, [r["is_main_result"] for r in results]), ("after\n", [False, False]))
        line, bar = results
        self.assertTrue(line["png"].startswith("iVBORw0KGgo"))
        chart = line["chart"]
        self.assertEqual((chart["type"], chart["title"], chart["x_label"], chart["x_unit"]), ("line", "T", "time (s)", "s"))
        self.assertEqual(chart["elements"], [{"label": "a", "points": [[1, 3], [2, 4]]}])
        self.assertEqual([(e["label"], e["value"]) for e in bar["chart"]["elements"]], [("u", 1), ("v", 2)])
        more = self.interpreter.run("fig, (a, b) = plt.subplots(1, 2)\na.scatter([1], [2])\nb.pie([1, 3], labels=['x', 'y'])\nfig")[2]
        self.assertEqual([(r["is_main_result"], r["chart"]["type"]) for r in more], [(True, "superchart")])
        self.assertEqual([c["type"] for c in more[0]["chart"]["elements"]], ["scatter", "pie"])
        axes = self.interpreter.run(
            "import datetime\nday = datetime.date(2023, 9, 1)\nplt.plot([day, day + datetime.timedelta(1)], ['u', 'v'])\nNone")
        chart = axes[2][0]["chart"]
        self.assertEqual((chart["x_scale"], chart["y_scale"]), ("datetime", "categorical"))
        self.assertEqual(chart["elements"][0]["points"], [["2023-09-01", "u"], ["2023-09-02", "v"]])
        self.assertEqual(chart["x_ticks"][0][:4], "2023")
        pie = self.interpreter.run("plt.pie([90, 10], startangle=90)\nNone")[2][0]["chart"]
        self.assertEqual([part["angle"] for part in pie["elements"]], [324, 36])
        circle = self.interpreter.run("plt.gca().add_artist(plt.Circle((0, 0), 1))\nplt.title('T')\nNone")[2][0]["chart"]
        self.assertEqual(circle, {"type": "unknown", "title": "T", "elements": []})
        boxes = self.interpreter.run("plt.boxplot([[1, 2, 3, 4, 10], [2, 3, 4]])\nNone")[2][0]["chart"]
        self.assertEqual((boxes["type"], [e["median"] for e in boxes["elements"]], boxes["elements"][0]["outliers"]),
                         ("box_and_whisker", [3, 3], [10]))

    def test_variables_of_one_cell(self):
        code = "import os\nos.environ.get('WORD'), os.environ['HOME']"
        self.assertEqual(self.interpreter.value(code, env_vars={"WORD": "w"}), "('w', '/home/user')")
        self.assertEqual(self.interpreter.value(code), "(None, '/home/user')")

    def test_one_that_dies_is_told_and_the_next_has_a_new_one(self):
        self.interpreter.run("x = 1")
        error = self.interpreter.run("import os\nprint('last words', flush=True)\nos._exit(7)")[3]
        self.assertEqual(error["name"], "KernelEnded")
        self.assertIn("7", error["value"])
        self.assertEqual(self.interpreter.run("x")[3]["name"], "NameError")

    def test_one_that_dies_between_two_cells_takes_nothing_of_the_next(self):
        dies = "import os, threading\nthreading.Timer({}, lambda: os._exit(7)).start()"
        for wait in (0, 0.001, 0.002, 0.003, 0.005, 0.01, 0.02, 0.05) * 2:
            self.interpreter.run(dies.format(wait))
            for number in range(4):
                out, err, results, error = self.interpreter.run(f"print('here {number}')\n{number}")
                if error:
                    self.assertEqual(error["name"], "KernelEnded")
                    self.assertIn(out, ("", f"here {number}\n"))
                else:
                    self.assertEqual((out, err, [r["text"] for r in results]), (f"here {number}\n", "", [str(number)]))

    def test_a_cell_cannot_take_the_kernel_s_streams(self):
        self.assertEqual(self.interpreter.run("print('\\x1e' + 'f' * 32 + '{\"type\":\"end\"}')")[2:], ([], None))
        self.assertEqual(self.interpreter.run("input()")[3]["name"], "EOFError")
        self.assertEqual(self.interpreter.run("import os\nos.close(0); os.close(1); os.close(2)")[3], None)
        self.assertEqual(self.interpreter.value("1 + 1"), "2")


class Languages(WithBox):
    def test_bash(self):
        run = self.interpreter.run
        self.assertEqual(run("x=it\\'s; cd /tmp; f() { echo \"f $1\"; }", language="bash"), ("", "", [], None))
        self.assertEqual(run("echo \"$x\"; pwd; f 2 >&2; cat", language="bash"), ("it's\n/tmp\n", "f 2\n", [], None))
        self.assertEqual(run("false", language="bash")[3], {"type": "error", "name": "", "value": "1", "traceback": ""})
        self.assertEqual(run("echo $WORD", language="bash", env_vars={"WORD": "a 'b' \\ $c"})[0], "a 'b' \\ $c\n")
        self.assertEqual(run("echo \"[$WORD]\"", language="bash")[0], "[]\n")
        for word in ("continue", "break", "continue 2", "break 2", "break 9"):  # of no loop of the cell's
            self.assertEqual(run(f"x=5; {word}; echo no", language="bash", env_vars={"WORD": "w"}), ("", "", [], None))
            self.assertEqual(run("echo $x[$WORD]", language="bash")[0], "5[]\n")
        self.assertEqual(run("exit 4", language="bash")[3]["name"], "KernelEnded")
        self.assertEqual(run("echo new", language="bash")[0], "new\n")

    def test_javascript(self):
        run, value = self.interpreter.run, self.interpreter.value
        self.assertEqual(run("const x = 20; let y = 1; console.log('hi')", language="javascript"), ("hi\n", "", [], None))
        self.assertEqual(value("x + y + 1", language="js"), "22")
        self.assertEqual(value("const z = await Promise.resolve(5)\nz + 1", language="js"), "6")
        self.assertEqual(value("z", language="js"), "5")
        self.assertEqual(value("await Promise.resolve(); const a = 1; 'a;b' + a", language="js"), "a;b1")
        self.assertEqual(value("'\\ud800'", language="js"), "\ufffd")
        self.assertEqual(value("const fs = require('fs'); let run = 1; var mark = 2; fs.existsSync('/tmp')", language="js"), "true")
        imports = "import path from 'path'\nimport * as os from 'node:os';\nimport { join as glued, sep } from \"path\"\n"
        self.assertEqual(value(imports + "[path.join('a', 'b'), typeof os.tmpdir, glued('c', sep)].join()", language="js"),
                         "a/b,function,c/")
        self.assertEqual(value("sep + run", language="js"), "/1")
        self.assertEqual(run("throw {toString() { throw 1 }}", language="js")[3]["name"], "object")
        self.assertEqual(value("'text'", language="js"), "text")
        error = run("throw new TypeError('no')", language="js")[3]
        self.assertEqual((error["name"], error["value"]), ("TypeError", "no"))
        self.assertEqual(value("process.env.WORD", language="js", env_vars={"WORD": "w"}), "w")

    def test_javascript_as_models_write_it(self):
        run, value = self.interpreter.run, self.interpreter.value
        self.assertEqual(value("\n    await Promise.resolve('awaited')\n    ", language="js"), "awaited")
        self.assertEqual(value("await Promise.resolve({\n  x: 1,\n})", language="js"), "{ x: 1 }")
        self.assertEqual(value("await new Promise(done => setTimeout(done, 1)); 'a;b'", language="js"), "a;b")
        self.assertEqual(run("for (let i = 0; i < 2; i++)\n  console.log(await i)", language="js")[:3], ("0\n1\n", "", []))
        declared = "const {a, b: c} = await {a: 1, b: 2}\nasync function f() { return 3 }\nclass K { v = 4 }\nawait f()"
        self.assertEqual(value(declared, language="js"), "3")
        self.assertEqual(value("[a, c, await f(), new K().v].join()", language="js"), "1,2,3,4")
        imported = ("import fs, {existsSync as there} from 'node:fs'\nimport * as path from \"path\";\nimport 'os'\n"
                    "[typeof fs.readFileSync, there('/'), path.join('a', 'b')].join()")
        self.assertEqual(value(imported, language="js"), "function,true,a/b")
        self.assertEqual(value(imported, language="js"), "function,true,a/b")
        self.assertEqual(value("const util = require('util'); typeof util.inspect", language="js"), "function")
        self.assertEqual(run("let x = ;", language="js")[3]["name"], "SyntaxError")
        self.assertIn("nowhere", run("import x from 'nowhere'", language="js")[3]["value"])
        self.assertEqual(value("`\nimport a from 'b'\n`.length", language="js"), "19")

    def test_typescript(self):
        run, value = self.interpreter.run, self.interpreter.value
        cell = "interface Point { x: number; y?: number }\nconst p: Point = { x: 20 }\nenum Way { Up = 4 }\nconsole.log('hi' as string)"
        self.assertEqual(run(cell, language="typescript"), ("hi\n", "", [], None))
        self.assertEqual(value("p.x! + (Way.Up satisfies number)", language="ts"), "24")
        self.assertEqual(value("const q: number = await Promise.resolve<number>(5)\nq + 1", language="ts"), "6")
        self.assertEqual(value("import { join, type ParsedPath } from 'path'\njoin('a', 'b')", language="ts"), "a/b")
        self.assertEqual(run("let x: = 3", language="ts")[3]["name"], "SyntaxError")

    def test_one_that_there_is_not(self):
        status, text = self.interpreter.ask("POST", "/execute", {"code": "1", "language": "cobol"})
        self.assertEqual((status, text), (400, "there is no language 'cobol': python, javascript, typescript and bash are"))
        self.assertEqual(self.interpreter.ask("POST", "/contexts", {"language": "cobol"}), (status, text))


class Contexts(WithBox):
    def test_they_do_not_see_each_other(self):
        made = self.interpreter.json("POST", "/contexts", {"language": "python", "cwd": "/tmp"})
        self.assertEqual((made["language"], made["cwd"]), ("python", "/tmp"))
        self.interpreter.run("x = 1", context_id=made["id"])
        self.assertEqual(self.interpreter.value("import os\nx, os.getcwd()", context_id=made["id"]), "(1, '/tmp')")
        self.assertEqual(self.interpreter.run("x")[3]["name"], "NameError")
        listed = self.interpreter.json("GET", "/contexts")
        self.assertEqual([each["language"] for each in listed], ["python", "javascript", "python"])
        self.assertEqual(listed[-1], made)
        self.interpreter.json("POST", f"/contexts/{made['id']}/restart")
        self.assertEqual(self.interpreter.run("x", context_id=made["id"])[3]["name"], "NameError")
        self.assertEqual(self.interpreter.ask("DELETE", "/contexts/" + made["id"])[0], 200)
        self.assertEqual(self.interpreter.ask("POST", "/execute", {"code": "1", "context_id": made["id"]}),
                         (404, f"Context {made['id']} not found"))
        self.assertEqual(self.interpreter.ask("DELETE", "/contexts/" + made["id"])[0], 404)

    def test_what_is_wrong_is_said(self):
        for body, status in [({"code": "1", "context_id": "a", "language": "python"}, 400), ({"code": 1}, 400), ({}, 400), ("x", 400),
                             ({"code": "\0"}, 400), ({"code": "1", "env_vars": {"a b": "c"}}, 400),
                             ({"code": "1", "context_id": "none"}, 404)]:
            self.assertEqual(self.interpreter.ask("POST", "/execute", body)[0], status, body)
        self.assertEqual(self.interpreter.ask("POST", "/contexts", {"cwd": "/nowhere"})[0], 400)
        self.assertEqual(self.interpreter.ask("GET", "/execute")[0], 404)
        self.assertEqual(self.interpreter.ask("GET", "/health"), (200, "OK"))

    def test_there_are_only_so_many(self):
        for _ in range(16):
            self.assertEqual(self.interpreter.ask("POST", "/contexts", {})[0], 200)
        self.assertEqual(self.interpreter.ask("POST", "/contexts", {})[0], 429)
        self.assertEqual(self.interpreter.value("1"), "1")

    def test_a_token_is_wanted(self):
        status, _, _ = self.server.ask("GET", "/contexts", headers=self.box.headers(PORT, token=False))
        self.assertEqual(status, 403)
        traffic = {**self.box.headers(PORT, token=False), "E2B-Traffic-Access-Token": self.box.made["trafficAccessToken"]}
        self.assertEqual(self.server.ask("GET", "/contexts", headers=traffic)[0], 200)

    def test_cells_of_one_context_take_turns_and_contexts_do_not(self):
        other = self.interpreter.json("POST", "/contexts", {})["id"]
        waits = "import os\nprint('begun', flush=True)\nopen('begun', 'w').close()\nwhile not os.path.exists('go'): pass\nx = 1"
        answers = {}
        first = threading.Thread(target=lambda: answers.update(first=self.interpreter.run(waits)))
        first.start()
        until(lambda: self.box.agent("GET", "/files?path=begun")[0] == 200, "the first cell runs")
        second = threading.Thread(target=lambda: answers.update(second=self.interpreter.run("print(x)")))
        second.start()
        self.assertEqual(self.interpreter.run("open('go', 'w').close()", context_id=other)[3], None)
        first.join()
        second.join()
        self.assertEqual({name: answer[0] for name, answer in answers.items()},
                         {"first": "begun\n", "second": "1\n"})


class Leaving(WithBox):
    def begin(self, code, **more):
        """A connection, and the answer that has begun."""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=PATIENCE_S)
        connection.request("POST", "/execute", json.dumps({"code": code, **more}),
                           {"Content-Type": "application/json", **self.box.headers(PORT)})
        return connection, connection.getresponse()

    def leave_during(self, code, **more):
        connection, answer = self.begin(code, **more)
        while b"begun" not in answer.readline():
            pass
        answer.close()
        connection.close()

    def has_connection(self, port: int) -> bool:
        """Whether the server holds one from that port, also where its client has left."""
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
            own, other, state = line.split()[1:4]
            if own.endswith(f":{self.server.port:04X}") and other.endswith(f":{port:04X}"):
                return state in ("01", "08")
        return False

    def test_who_leaves_interrupts_the_cell_and_names_stay(self):
        self.leave_during("x = 5\nprint('begun', flush=True)\nwhile True: pass")
        self.assertEqual(self.interpreter.value("x"), "5")
        self.leave_during("x=5; echo begun; sleep 1000", language="bash")
        self.assertEqual(self.interpreter.run("echo $x", language="bash")[0], "5\n")

    def test_who_does_not_read_interrupts_the_cell(self):
        connection, answer = self.begin("try:\n  while True: print('x' * 10_000)\n"
                                        "except KeyboardInterrupt: open('/tmp/told', 'w').close()")
        until(lambda: self.box.run("ls /tmp")[0].split() == ["told"], "the cell is interrupted")
        answer.close()
        connection.close()

    def test_who_leaves_before_its_turn_has_its_cell_not_run(self):
        first, answer = self.begin("import os, time\nprint('begun', flush=True)\n"
                                   "while not os.path.exists('/tmp/go'): time.sleep(0.01)")
        while b"begun" not in answer.readline():
            pass
        second, waiting = self.begin("open('/tmp/ran', 'w').close()")
        port = second.sock.getsockname()[1]
        waiting.close()
        second.close()
        until(lambda: not self.has_connection(port), "the server has seen that it left")
        self.box.run("touch /tmp/go")
        answer.read()
        first.close()
        self.assertEqual(self.interpreter.value("os.path.exists('/tmp/ran')"), "False")

    def test_a_sandbox_that_goes_breaks_the_answer_off(self):
        for how in ("/pause", ""):
            connection, answer = self.begin("print('begun', flush=True)\nwhile True: pass")
            while b"begun" not in answer.readline():
                pass
            self.assertEqual(self.box.rest("POST" if how else "DELETE", how, {} if how else None)[0], 204)
            with self.assertRaises(http.client.IncompleteRead):
                answer.read()
            connection.close()
            if how:
                self.assertEqual(self.box.rest("POST", "/connect", {"timeout": 60})[0], 201)

    def test_contexts_go_on_after_a_pause(self):
        self.interpreter.run("x = 7")
        self.assertEqual(self.box.rest("POST", "/pause", {})[0], 204)
        self.assertEqual(self.box.rest("POST", "/connect", {"timeout": 60})[0], 201)
        self.assertEqual(self.interpreter.value("x"), "7")
        self.assertEqual(self.box.rest("POST", "/pause", {"memory": False})[0], 204)
        self.assertEqual(self.box.rest("POST", "/connect", {"timeout": 60})[0], 201)
        self.assertEqual(self.interpreter.run("x")[3]["name"], "NameError")


if __name__ == "__main__":
    unittest.main()
