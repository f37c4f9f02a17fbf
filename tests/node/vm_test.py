# SPDX-License-Identifier: Apache-2.0
"""Contexts of vm: realms with globals of their own, over the object that the program gives."""
import os
import subprocess
import unittest


class Vm(unittest.TestCase):
    maxDiff = None

    def check(self, script, wanted):
        done = subprocess.run([os.environ["CLOCHE_PROGRAM"], "run", "--timeout", "300s", "--", "node", "-e", script],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        self.assertEqual((done.stdout, done.returncode), (wanted, 0), done.stderr)

    def test_a_context_has_globals_and_a_language_of_its_own(self):
        self.check("""
            const c = vm.createContext({ x: 1, Outer: Array });
            vm.runInContext('x++; y = 5; var z = 7; function f() { return z } let l = 3; class C {}', c);
            console.log(Object.keys(c).sort().join(), c.x, c.f(), vm.runInContext('l + typeof C + typeof process', c));
            console.log(vm.runInContext('[] instanceof Outer', c), vm.runInContext('this === globalThis && (function () { return this })() === this', c));
            console.log(vm.runInContext('globalThis.d = 1; delete x', c), 'x' in c, c.d, globalThis.y, typeof vm.runInNewContext('globalThis.Buffer'));
            console.log(vm.runInNewContext('[new Map([[1, 2]]), /x/g, new Date(0), Promise.resolve(4)]'));
            try { vm.runInNewContext('nothing') } catch (error) { console.log(error.name, error.message, error instanceof Error, util.types.isNativeError(error)) }
            console.log(vm.runInNewContext('let a = 1; eval("a + 1") + new Function("return b")()', { b: 10 }), vm.runInNewContext('"use strict"; typeof nothing'));
            """, "Outer,f,x,y,z 2 7 3functionundefined\nfalse true\ntrue false 1 undefined undefined\n"
                 "[ Map(1) { 1 => 2 }, /x/g, 1970-01-01T00:00:00.000Z, Promise { 4 } ]\n"
                 "ReferenceError nothing is not defined false true\n12 undefined\n")

    def test_a_script_runs_in_many_contexts(self):
        self.check("""
            const script = new vm.Script('n = (typeof n === "undefined" ? 0 : n) + 1'), a = vm.createContext(), b = vm.createContext({ n: 10 });
            script.runInContext(a); script.runInContext(a); script.runInContext(b);
            console.log(a.n, b.n, vm.isContext(a), vm.isContext({}));
            console.log(vm.compileFunction('return a + b + c', ['a', 'b'], { contextExtensions: [{ c: 5 }] })(1, 2));
            for (const f of [() => new vm.Script('var = 1'), () => vm.runInContext('1', {}), () => vm.compileFunction('}); (function () {')]) try { f(); } catch (error) { console.log(error.code ?? error.name) }
            const g = vm.createContext(vm.constants.DONT_CONTEXTIFY);
            console.log(vm.runInContext('var a = 1; globalThis', g) === g, g.a);
            """, "2 11 true false\n8\nSyntaxError\nERR_INVALID_ARG_TYPE\nSyntaxError\ntrue 1\n")

    def test_what_takes_too_long_is_ended(self):
        self.check("""
            for (const source of ['for (;;);', 'for (;;) { try { for (;;); } catch {} }']) try { vm.runInNewContext(source, {}, { timeout: 50 }) } catch (error) { console.log(error.code, error.message) }
            console.log(vm.runInThisContext('1 + 1', { timeout: 1000 }));
            """, 2 * "ERR_SCRIPT_EXECUTION_TIMEOUT Script execution timed out after 50ms\n" + "2\n")

    def test_jobs_go_on_and_contexts_that_nobody_has_are_freed(self):
        self.check("""
            vm.runInNewContext('Promise.resolve(1).then((value) => out(value))', { out: (value) => console.log('job', value) });
            (function () { for (let i = 0; i < 200; i++) vm.runInContext('var g = () => 1; globalThis.self = globalThis', vm.createContext({})); })();
            const before = process.memoryUsage().rss;
            (function () { for (let i = 0; i < 1500; i++) vm.runInContext('var g = () => 1; globalThis.self = globalThis', vm.createContext({})); })();
            console.log(process.memoryUsage().rss - before < 20e6);
            """, "true\njob 1\n")

    def test_a_proxy_is_shown_by_its_target_and_no_trap_is_called(self):
        self.check("""
            const p = new Proxy(new Map([[1, 2]]), { get() { throw 1 }, ownKeys() { throw 2 } });
            console.log(p, util.inspect(new Proxy({ a: 1 }, { b: 2 }), { showProxy: true }));
            """, "Map(1) { 1 => 2 } Proxy [ { a: 1 }, { b: 2 } ]\n")

    def test_a_stack_has_the_program_alone_and_a_template_may_be_divided(self):
        self.check("""
            function f() { [1].map(() => { throw new Error('x') }) }
            Error.prepareStackTrace = (error, places) => places.map((place) => place.getFileName()).filter((name) => name === null || name.startsWith('/usr/lib/node/')).length;
            setTimeout(() => { try { f() } catch (error) { console.log(error.stack, (() => `${4}` / 2)(), (`${4}` / 2, 1)) } });
            """, "0 2 1\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
