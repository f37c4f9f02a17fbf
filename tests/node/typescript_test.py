# SPDX-License-Identifier: Apache-2.0
"""Programs in TypeScript, which node runs without their types."""
import os
import subprocess
import unittest

FILES = """
cat > a.ts <<'E'
import { add, type N } from './b.ts';
import type { X } from './nothing.ts';
enum Color { Red, Green = 5 }
interface P { a: number; b?: string }
class Q<T> implements P { a = 1; declare z: string; constructor(private readonly v: T) {} get(): T { return this.v as T; } }
function f<T extends object>(x: T, ...r: number[]): x is T { return !!x satisfies boolean; }
const p = <const T,>(x: T): T => x;
const n: N = add(1, 2)!;
console.log(n, Color.Green, Color[0], new Q('s').get(), f({}), p(3));
try { (null as any).x; } catch (e: unknown) { console.log(/a\\.ts:(\\d+)/.exec((e as Error).stack!)![1]); }
E
printf 'export type N = number;\\nexport function add(a: number, b: number): number { return a + b; }\\n' > b.ts
printf "const x: string = 'cts'; console.log(x, __filename);\\n" > c.cts
printf "const x: number = 1; export default x; console.log(import.meta.filename);\\n" > d.mts
"""


class TypeScript(unittest.TestCase):
    def in_sandbox(self, script):
        done = subprocess.run([os.environ["CLOCHE_PROGRAM"], "run", "--timeout", "300s", "--", "bash", "-c", FILES + script],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        return done.stdout, done.stderr

    def check(self, script, wanted):
        out, err = self.in_sandbox(script)
        self.assertEqual(out, wanted, err)

    def test_files_of_each_kind_run(self):
        self.check("node a.ts; node c.cts; node d.mts; node -p 'require(\"./b.ts\").add(2, 3)'; node --input-type=module-typescript -e 'let a: number = 1; console.log(a)'",
                   "3 5 Red s true 3\n10\ncts /workspace/c.cts\n/workspace/d.mts\n5\n1\n")

    def test_types_are_taken_out_by_a_function_of_module(self):
        self.check("node -p 'require(\"module\").stripTypeScriptTypes(\"let a: number = 1\").replace(/ /g, \"\")'", "leta=1\n")

    def test_what_stays_typescript_is_an_error(self):
        mistakes = {"bad.ts": ("let x: = 3", "ERR_INVALID_TYPESCRIPT_SYNTAX"), "space.ts": ("namespace N { export const a = 1 }", "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX"),
                    "node_modules/m/m.ts": ("let x: number = 1", "ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING")}
        for name, (text, code) in mistakes.items():
            out, err = self.in_sandbox(f"mkdir -p node_modules/m; echo '{text}' > {name}; node {name}; echo $?")
            self.assertEqual(out, "1\n")
            self.assertIn(code, err)


if __name__ == "__main__":
    unittest.main(verbosity=2)
