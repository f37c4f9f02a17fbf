# SPDX-License-Identifier: Apache-2.0
"""Reporters of node's tests: those of the library, those of programs, and several at once."""
import os
import re
import subprocess
import unittest

TESTS = r"""
const { test, describe, it } = require('node:test'), assert = require('assert');
test('whole', () => {});
test('outer', async (t) => { await t.test('in <1>', () => {}); t.diagnostic('noted'); });
describe('suite "q"', () => { it('wrong', () => assert.strictEqual(1, 2)); it.skip('left out'); it.todo('later'); });
"""
OWN = r"""
module.exports = async function* (source) {
  for await (const { type, data } of source)
    yield `${type} ${data.nesting ?? ''} ${data.name ?? data.message ?? ''} ${data.details?.error?.cause?.code ?? ''}\n`;
};
"""


class Reporters(unittest.TestCase):
    maxDiff = None

    def run_tests(self, options, after=""):
        script = f"cat > a.test.js <<'EOF'\n{TESTS}EOF\ncat > own.js <<'EOF'\n{OWN}EOF\nnode {options} a.test.js; echo status $?; {after}"
        done = subprocess.run([os.environ["CLOCHE_PROGRAM"], "run", "--timeout", "120s", "--", "bash", "-c", script],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        return re.sub(r"\d+\.\d+", "T", done.stdout), done.stderr

    def test_each_of_the_library(self):
        dots, _ = self.run_tests("--test-reporter=dot")
        self.assertTrue(dots.startswith("...X..X\n\nFailed tests:\n\n✖ wrong (Tms)\n"), dots)
        xml, _ = self.run_tests("--test-reporter=junit")
        for line in ('\t<testcase name="whole" time="T" classname="test"/>\n', '\t\t<testcase name="in &lt;1>" time="T" classname="test"/>\n', "\t<!-- noted -->\n",
                     '\t\t\t<skipped type="skipped" message="true"/>\n', '\t\t\t<failure type="testCodeFailure" message="Expected values to be strictly equal:1 !== 2">\n', "</testsuites>\nstatus 1\n"):
            self.assertIn(line, xml)
        spec, _ = self.run_tests("--test-reporter=spec")
        self.assertIn("✔ whole (Tms)\n▶ outer\n  ✔ in <1> (Tms)\n✔ outer (Tms)\nℹ noted\n▶ suite \"q\"\n  ✖ wrong (Tms)\n  ﹣ left out (Tms) # SKIP\n", spec)
        tap, _ = self.run_tests("--test-reporter=tap")
        self.assertIn("# Subtest: outer\n    # Subtest: in <1>\n    ok 1 - in <1>\n      ---\n      duration_ms: T\n      type: 'test'\n      ...\n    1..1\nok 2 - outer\n", tap)

    def test_one_of_the_program(self):
        for options in ("--test-reporter=./own.js", "--test --test-reporter=./own.js"):
            told, errors = self.run_tests(options)
            self.assertIn("test:start 0 outer \ntest:start 1 in <1> \ntest:pass 1 in <1> \ntest:plan 1  \ntest:pass 0 outer \ntest:diagnostic 0 noted \n", told, errors)
            self.assertIn("test:fail 1 wrong ERR_ASSERTION\n", told)
            self.assertIn("test:summary   \nstatus 1\n", told)

    def test_several_with_places_of_their_own(self):
        told, errors = self.run_tests("--test --test-reporter=dot --test-reporter-destination=stdout --test-reporter=tap --test-reporter-destination=out.tap", "head -n 2 out.tap")
        self.assertTrue(told.startswith("...X..X\n"), told + errors)
        self.assertTrue(told.endswith("status 1\nTAP version 13\n# Subtest: whole\n"), told + errors)

    def test_what_is_none_is_told(self):
        told, errors = self.run_tests("--test-reporter=nowhere")
        self.assertEqual((told, errors.startswith("node: no reporter of tests is called nowhere")), ("status 1\n", True), errors)

    def test_programs_use_them(self):
        script = ("const { tap, spec } = require('node:test/reporters'), { Readable } = require('stream');"
                  "const events = [{ type: 'test:start', data: { name: 'a', nesting: 0 } }, { type: 'test:pass', data: { name: 'a', nesting: 0, testNumber: 1, details: { duration_ms: 1 } } }];"
                  "Readable.from(events).compose(tap).on('data', (text) => process.stdout.write(String(text))).on('end', () => Readable.from(events).pipe(new spec()).pipe(process.stdout));")
        done = subprocess.run([os.environ["CLOCHE_PROGRAM"], "run", "--", "node", "-e", script], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        self.assertEqual(done.stdout, "TAP version 13\n# Subtest: a\nok 1 - a\n  ---\n  duration_ms: 1\n  type: 'test'\n  ...\n✔ a (1ms)\n", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
