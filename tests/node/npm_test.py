# SPDX-License-Identifier: Apache-2.0
"""npm and npx in a sandbox: what they bring from a registry that its network reaches, and what they say where it does not."""
import os
import subprocess
import unittest

from registry import Registry

BIG = "module.exports = [" + ",".join(str(n * n) for n in range(40_000)) + "];"


class Npm(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.registry = registry = Registry()
        registry.add({"name": "right", "version": "1.2.0"}, {"index.js": "exports.right = (n) => n + 2;"})
        registry.add({"name": "right", "version": "2.0.0"}, {"index.js": "throw new Error('too new');"})
        registry.add({"name": "left", "version": "1.0.0", "dependencies": {"right": "^1.0.0", "big": "*"},
                      "scripts": {"postinstall": "node -e \"require('fs').writeFileSync('made', process.env.npm_package_name)\""}},
                     {"index.js": "exports.left = (n) => require('right').right(n) + require('big').length;"})
        registry.add({"name": "big", "version": "1.0.0"}, {"index.js": BIG})
        registry.add({"name": "tool", "version": "1.0.0", "bin": {"tool": "cli.js"}},
                     {"cli.js": "#!/usr/bin/env node\nconsole.log('tool', ...process.argv.slice(2));"})
        registry.add({"name": "changed", "version": "1.0.0"}, {"index.js": ""}, integrity="sha512-" + "A" * 86 + "==")

    @classmethod
    def tearDownClass(cls):
        cls.registry.close()

    def run_in_sandbox(self, script, *, network=True):
        open_to = ["--net", f"localhost:{self.registry.port}"] if network else []
        done = subprocess.run([os.environ["CLOCHE_PROGRAM"], "run", "--timeout", "800s", "--env",
                               f"npm_config_registry=http://127.0.0.1:{self.registry.port}/", *open_to, "--", "bash", "-c", script],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        return done.stdout, done.stderr, done.returncode

    def check(self, script, wanted):
        out, err, status = self.run_in_sandbox(script)
        self.assertEqual((out, status), (wanted, 0), err)
        return err

    def test_packages_are_installed_and_found(self):
        self.check(
            "mkdir p && cd p && npm init -y >/dev/null && npm install left | sed 's/ in .*//' && cat node_modules/left/made; echo\n"
            "node -p 'require(\"left\").left(1)' && npm ls --all && npm pkg get dependencies\n"
            "rm -r node_modules && npm ci --offline --silent && ls node_modules && npm uninstall --silent left && ls -A\n",
            "\nadded 3 packages, and audited 4 packages\n\nfound 0 vulnerabilities\nleft\n40003\n"
            "p@1.0.0 /workspace/p\n└─┬ left@1.0.0\n  ├── big@1.0.0\n  └── right@1.2.0\n\n{\n  \"left\": \"^1.0.0\"\n}\n"
            "big\nleft\nright\nnode_modules\npackage-lock.json\npackage.json\n")

    def test_scripts_and_programs_of_packages_run(self):
        self.check(
            "mkdir p && cd p && npm init -y >/dev/null && npm pkg set scripts.hello='echo hello $npm_package_name' && npm install -s tool\n"
            "npm run -s hello && npx tool a 'b c' && (npm test >/dev/null 2>&1; echo $?) && npm exec -- tool x\n"
            "cd .. && npx -y tool elsewhere && npm install -s -g tool && ~/.local/bin/tool everywhere && npm -g ls --depth 0 | sed 1d\n",
            "hello p\ntool a b c\n1\ntool x\ntool elsewhere\ntool everywhere\n└── tool@1.0.0\n\n")

    def test_what_it_cannot_have_is_an_error(self):
        out, err, status = self.run_in_sandbox("npm install --loglevel=error changed; echo $?; npm install --loglevel=error nowhere; echo $?; ls node_modules")
        self.assertEqual((out, status), ("1\n1\n", 2), err)
        self.assertIn("EINTEGRITY", err)
        self.assertIn("404 Not Found - GET", err)

    def test_a_closed_network_is_told_at_once(self):
        asked = len(self.registry.asked)
        out, err, status = self.run_in_sandbox("npm_config_registry=https://registry.example.org/ npm install left", network=False)
        self.assertEqual((out, status), ("", 1), err)
        self.assertIn("ENOTFOUND", err)
        self.assertEqual(len(self.registry.asked), asked)


if __name__ == "__main__":
    unittest.main(verbosity=2)
