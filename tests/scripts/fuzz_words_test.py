#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The dictionaries with which fuzz targets are searched."""
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGETS = sorted(path.stem for path in (ROOT / "fuzz").glob("*_fuzz.cc"))


def words(target):
    told = subprocess.run([ROOT / "scripts" / "fuzz_words", target], capture_output=True, text=True, check=True).stdout.splitlines()[1:]
    return [re.sub(r"\\x(..)", lambda match: chr(int(match[1], 16)), line[1:-1]) for line in told], told


class FuzzWords(unittest.TestCase):
    def test_each_target_has_them_as_libfuzzer_reads_them(self):
        for target in TARGETS:
            for line in words(target)[1]:
                self.assertRegex(line, r'\A"(?:[0-9A-Za-z]|\\x[0-9a-f]{2}){1,128}"\Z', target)

    def test_what_the_code_looks_for_is_among_them(self):
        for target, wanted in {"http_bodies_fuzz": ["sshPublicKey", '"timeoutMs":', "multipart/form-data", "\r\n"],
                               "e2b_texts_fuzz": ['"templateID":'], "rpc_lines_fuzz": ['"jsonrpc":'],
                               "texts_fuzz": ['"minimum":']}.items():
            self.assertEqual([word for word in wanted if word not in words(target)[0]], [], target)

    def test_sentences_are_not(self):
        self.assertEqual([word for word in words("http_bodies_fuzz")[0] if word.count(" ") > 1], [])


unittest.main(argv=sys.argv[:1])
