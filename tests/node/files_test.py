# SPDX-License-Identifier: Apache-2.0
"""What node 22 has for files and values, where an older Node.js of the machine has nothing to compare with."""
import os
import subprocess
import unittest


class Files(unittest.TestCase):
    def check(self, program, wanted):
        done = subprocess.run([os.environ["CLOCHE_PROGRAM"], "run", "--timeout", "300s", "--stdin", "node -"], input=program, capture_output=True, text=True, check=False)
        self.assertEqual((done.stdout, done.returncode), (wanted, 0), done.stderr)

    def test_a_folder_is_not_copied_into_itself(self):
        self.check("""
const fs = require('fs');
fs.mkdirSync('d/e', { recursive: true });
fs.symlinkSync('d', 'other');
for (const to of ['d/x', 'd/e/x/y', 'other/x']) try { fs.cpSync('d', to, { recursive: true }); console.log('copied'); } catch (e) { console.log(e.code, e.message); }
console.log(fs.readdirSync('d', { recursive: true }).join());
""", "ERR_FS_CP_EINVAL Cannot copy d/ to a subdirectory of self d/x\nERR_FS_CP_EINVAL Cannot copy d/ to a subdirectory of self d/e/x/y\n"
             "ERR_FS_CP_EINVAL Cannot copy d/ to a subdirectory of self other/x\ne\n")

    def test_patterns_find_files_in_little_time(self):
        self.check("""
const fs = require('fs'), path = require('path');
fs.mkdirSync('a/b/c', { recursive: true });
for (const name of ['a/1.js', 'a/b/2.js', 'a/b/c/3.ts', 'a/.hidden.js']) fs.writeFileSync(name, '');
fs.symlinkSync('..', 'a/b/up');
console.log(fs.globSync('**/*.{js,ts}').join(), fs.globSync('**/**/**/**/**/**/3.ts').join(), fs.globSync('a/{1..3}.js').join());
console.log(path.matchesGlob('a/b/c.js', 'a/**/*.js'), path.matchesGlob('aaaaaaaaaaaaaaaaaaaaaaaa', '*a*a*a*a*b'));
try { fs.globSync('{1..1000000000}'); } catch (e) { console.log(e.code); }
""", "a/1.js,a/b/2.js,a/b/c/3.ts a/b/c/3.ts a/1.js\ntrue false\nERR_OUT_OF_RANGE\n")

    def test_a_blob_of_a_file_is_read_when_it_is_asked_for(self):
        self.check("""
const fs = require('fs');
fs.writeFileSync('b', 'x'.repeat(200000));
fs.openAsBlob('b').then(async (blob) => {
  let parts = 0, size = 0;
  for await (const part of blob.stream()) { parts++; size += part.length; }
  console.log(parts > 1, size, await blob.slice(-3).text());
  fs.writeFileSync('b', 'other');
  await blob.text().catch((e) => console.log(e.name));
});
""", "true 200000 xxx\nNotReadableError\n")

    def test_addresses_and_types_of_content(self):
        self.check("""
const { BlockList } = require('net'), { MIMEType } = require('util'), { createHistogram } = require('perf_hooks');
const list = new BlockList();
list.addSubnet('10.0.0.0', 8);
console.log(list.check('10.1.2.3'), list.check('11.1.2.3'), list.check('::ffff:10.1.2.3', 'ipv6'));
console.log(String(new MIMEType('Text/HTML; charset="utf-8"')));
const h = createHistogram();
[5, 10, 1000].forEach((value) => h.record(value));
console.log(h.count, h.percentile(50), h.max);
""", "true false true\ntext/html;charset=utf-8\n3 10 1000\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
