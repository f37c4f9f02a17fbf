// SPDX-License-Identifier: Apache-2.0
// Python as a command, as a kept interpreter, and forked alive.
#include "sandbox_testing.h"

namespace cloche::testing {
namespace {

TEST(Python, IsACommandLikeAnyOther) {
  EXPECT_EQ(output_of("python3 -c 'import sys; print(1 + 1, sys.version_info[:2])'"),
            "2 (3, 15)\n");
  EXPECT_EQ(output_of("echo 'print(\"from stdin\")' | python3"), "from stdin\n");
  EXPECT_EQ(output_of("printf 'import sys\\nprint(sys.argv[1:])\\n' > s.py; python3 s.py a 'b c'"),
            "['a', 'b c']\n");
  EXPECT_EQ(output_of("python3 -c 'import os; print(os.getcwd())'; cd /tmp; python3 -c 'import os; "
                      "print(os.getcwd())'"),
            "/workspace\n/tmp\n");
  EXPECT_EQ(output_of("python3 -c 'print(open(\"/etc/hostname\").read())' | tr a-z A-Z"),
            "CLOCHE\n\n");
}

TEST(Python, StatusesAndTracebacks) {
  const auto sandbox = make_sandbox();
  EXPECT_EQ(sandbox->run({.script = "python3 -c 'raise SystemExit(5)'"}).exit_code, 5);
  const RunResult raised = sandbox->run(
      {.script = "printf 'def f():\\n    return 1 / 0\\nf()\\n' > bad.py; python3 bad.py"});
  EXPECT_EQ(raised.exit_code, 1);
  EXPECT_NE(raised.stderr_data.find("bad.py\", line 2, in f"), std::string::npos)
      << raised.stderr_data;
  EXPECT_NE(raised.stderr_data.find("ZeroDivisionError"), std::string::npos);
}

// A module of Ansible's comes as a zip with its library, which looks what a name of dataclasses' is
// that there was once, before it looks whether it wants another.
TEST(Python, AnsibleFindsTheNameThatItLooksFor) {
  constexpr const char* program = R"sh(mkdir -p ansible/module_utils && touch ansible/__init__.py
printf 'import dataclasses\nnow = dataclasses._is_type\n' > ansible/module_utils/__init__.py
python3 -m zipfile -c payload.zip ansible && rm -r ansible
python3 -c 'import dataclasses, sys
print(hasattr(dataclasses, "_is_type"))
sys.path.insert(0, "payload.zip")
from ansible import module_utils
print(module_utils.now)')sh";
  EXPECT_EQ(output_of(program), "False\nNone\n");
}

// Each page of the image that a process writes is one more that it has for itself: what a program
// makes lies together, in some 30 pages here, and not in the gaps of the image, in 700.
TEST(Python, WhatAProgramMakesLiesTogether) {
  constexpr const char* program = R"sh(python3 -c '
made = []
for n in range(2, 130):
    made += [bytes(n), object(), [n], {n: n}, str(n) * n, (n,), n / 3]
print(len({id(one) >> 12 for one in made}) < 60)')sh";
  EXPECT_EQ(output_of(program), "True\n");
  EXPECT_EQ(make_sandbox({.packages = {"numpy"}})->run({.script = program}).stdout_data, "True\n");
}

TEST(Python, PackagesAreThereOnceInstalled) {
  const RunResult bare = make_sandbox()->run({.script = "python3 -c 'import numpy'"});
  EXPECT_EQ(bare.exit_code, 1);
  EXPECT_NE(bare.stderr_data.find("ModuleNotFoundError"), std::string::npos) << bare.stderr_data;
  const auto sandbox = make_sandbox({.packages = {"pandas"}});
  const RunResult result = sandbox->run(
      {.script =
           "python3 -c 'import numpy as np, pandas as pd; print(pd.Series(np.arange(4)).sum())'"});
  EXPECT_EQ(result.stdout_data, "6\n") << result.stderr_data;
}

TEST(Python, AnUnknownPackageIsNamed) {
  const Error why = make_sandbox()->install_packages({"nonesuch"}).error();
  EXPECT_EQ(why.code(), Errno::noent);
  EXPECT_NE(why.sentence().find("numpy"), std::string::npos) << why.sentence();
}

TEST(KeptPython, KeepsNamesAndSurvivesErrors) {
  const auto sandbox = make_sandbox();
  EXPECT_EQ(sandbox->run_python("x = 41").exit_code, 0);
  const RunResult raised = sandbox->run_python("print('before'); nonesuch");
  EXPECT_EQ(raised.exit_code, 1);
  EXPECT_EQ(raised.stdout_data, "before\n");
  EXPECT_NE(raised.stderr_data.find("NameError"), std::string::npos);
  EXPECT_EQ(sandbox->run_python("import sys; sys.exit(3)").exit_code, 3);
  EXPECT_EQ(sandbox->run_python("print(x + 1)").stdout_data, "42\n");
}

TEST(KeptPython, ATimeLimitCostsTheInterpreterOnly) {
  const auto sandbox = make_sandbox();
  const RunResult result =
      sandbox->run_python("while True: pass", {.timeout = std::chrono::milliseconds(200)});
  EXPECT_EQ(result.status, RunStatus::timed_out);
  EXPECT_EQ(sandbox->run_python("print('again')").stdout_data, "again\n");
}

TEST(KeptPython, AForkHasItAlive) {
  const auto sandbox = make_sandbox();
  ASSERT_EQ(
      sandbox->run_python("import random; data = list(range(1000)); open('f', 'w').write('file')")
          .exit_code,
      0);
  const auto a = sandbox->fork();
  const auto b = sandbox->fork();
  EXPECT_EQ(a->run_python("data.append(1); print(sum(data), open('f').read())").stdout_data,
            "499501 file\n");
  EXPECT_EQ(b->run_python("print(sum(data))").stdout_data, "499500\n");
  EXPECT_EQ(sandbox->run_python("print(len(data))").stdout_data, "1000\n");
}

TEST(KeptPython, AForkWorksInTheFolderThatItWasIn) {
  const auto sandbox = make_sandbox();
  const char* where = "print(os.getcwd(), os.path.samefile('.', os.getcwd()))";
  ASSERT_EQ(sandbox->run_python("import os; os.makedirs('/tmp/there/in'); os.chdir('/tmp/there')")
                .exit_code,
            0);
  const auto fork = sandbox->fork();
  EXPECT_EQ(fork->run_python(where).stdout_data, "/tmp/there True\n");
  EXPECT_EQ(fork->run_python("open('new', 'w').write('x'); os.chdir('in')").exit_code, 0);
  EXPECT_EQ(fork->run_python("print(os.listdir('/tmp/there'))").stdout_data, "['in', 'new']\n");
  EXPECT_EQ(fork->fork()->run_python(where).stdout_data, "/tmp/there/in True\n");
  EXPECT_EQ(sandbox->run_python(where).stdout_data, "/tmp/there True\n");
  // A folder that is gone: the fork is alive, and where a new interpreter would be.
  ASSERT_EQ(sandbox->run_python("x = 1; os.rmdir('in'); os.rmdir('/tmp/there')").exit_code, 0);
  EXPECT_EQ(sandbox->fork()->run_python("print(x, os.getcwd())").stdout_data, "1 /workspace\n");
}

TEST(KeptPython, ForksNeverDrawTheSameNumbers) {
  const auto sandbox = make_sandbox();
  ASSERT_EQ(sandbox->run_python("import random, uuid, os; random.random()").exit_code, 0);
  const auto a = sandbox->fork();
  const auto b = sandbox->fork();
  const char* draw = "print(random.random(), uuid.uuid4(), os.urandom(8).hex())";
  const std::string from_a = a->run_python(draw).stdout_data;
  EXPECT_NE(from_a, "");
  EXPECT_NE(from_a, b->run_python(draw).stdout_data);
  EXPECT_NE(output_of("python3 -c 'import random; print(random.random())'"),
            output_of("python3 -c 'import random; print(random.random())'"));
}

}  // namespace
}  // namespace cloche::testing
