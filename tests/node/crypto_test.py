# SPDX-License-Identifier: Apache-2.0
"""crypto of node in a sandbox: where its random numbers come from, and that what computes long is ended by a limit."""
import os
import subprocess
import unittest


def run_in_sandbox(program, *options):
    done = subprocess.run([os.environ["CLOCHE_PROGRAM"], "run", *options, "--", "node", "-e", program],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return done.stdout, done.stderr, done.returncode


class Crypto(unittest.TestCase):
    def random_calls(self, program):
        out, err, status = run_in_sandbox(program, "--timeout", "120s", "--trace-syscalls")
        self.assertEqual((out, status), ("done\n", 0), err)
        return sum("getrandom" in line for line in err.splitlines())

    def test_every_random_number_is_the_kernels(self):
        """A process that goes on twice from one memory has no state from which both would draw the same."""
        once = self.random_calls("crypto.subtle; require('crypto').generateKeyPairSync('ed25519'); console.log('done')")
        for what in ("generateKeyPairSync('ed25519')", "generateKeyPairSync('ec', { namedCurve: 'P-256' })", "randomUUID()", "randomInt(7)",
                     "createECDH('prime256v1').generateKeys()", "sign('sha256', Buffer.alloc(1), key)"):
            many = self.random_calls(f"const c = require('crypto'), key = c.generateKeyPairSync('ed25519') && c.generateKeyPairSync('ec', {{ namedCurve: 'P-256' }}).privateKey;"
                                     f"for (let i = 0; i < 5; i++) c.{what}; console.log('done')")
            self.assertGreaterEqual(many - once, 5, what)

    def test_a_key_that_takes_too_long_is_ended(self):
        for what in ("generateKeyPairSync('rsa', { modulusLength: 16384 })", "scryptSync('a', 'b', 32, { N: 2 ** 14, r: 8, p: 2 ** 16, maxmem: 2 ** 31 })",
                     "pbkdf2Sync('a', 'b', 2 ** 31 - 1, 32, 'sha512')", "generatePrimeSync(8192, { safe: true })"):
            out, err, status = run_in_sandbox(f"require('fs').writeSync(1, 'begun\\n'); require('crypto').{what}; console.log('made')", "--timeout", "2s")
            self.assertEqual(out, "begun\n", (what, err))
            self.assertNotEqual(status, 0, what)

    def test_memory_is_bounded(self):
        out, err, status = run_in_sandbox(
            "const c = require('crypto'); for (const f of [() => c.scryptSync('a', 'b', 32, { N: 2 ** 20, r: 8, p: 1, maxmem: 2 ** 40 }), () => c.randomBytes(2 ** 31 - 1),"
            "() => c.createHash('shake256', { outputLength: 2 ** 31 - 1 }).digest()]) try { f(); console.log('none'); } catch (error) { console.log(error.name); }",
            "--timeout", "120s", "--memory", "200M")
        self.assertEqual(len(out.splitlines()), 3, err)
        self.assertNotIn("none", out)
        self.assertEqual(status, 0, err)


if __name__ == "__main__":
    unittest.main()
