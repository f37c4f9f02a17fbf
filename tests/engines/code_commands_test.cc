// SPDX-License-Identifier: Apache-2.0
// Which program runs a client's code, in sandboxes of both engines.
#include "engines_testing.h"
#include "sandbox/language.h"

namespace cloche {
namespace {

using CodeCommands = testing::OnEachEngine;

// As images of Python have theirs in /usr/local, beside the one of their system.
TEST_P(CodeCommands, PythonIsTheFirstOneOfThePath) {
  const auto sandbox = make_sandbox();
  ASSERT_EQ(sandbox->run({.script = "mkdir -p /usr/local/bin", .account = Account::root}).exit_code,
            0);
  ASSERT_TRUE(sandbox->files(Account::root)
                  .write("/usr/local/bin/python3", "#!/bin/sh\necho another, given $2\n", 0755));
  const RunResult result =
      sandbox->run({.argv = sandbox::code_command(*sandbox, sandbox::Language::python, "code")});
  EXPECT_EQ(result.stdout_data, "another, given code\n") << result.reason << result.stderr_data;
}

CLOCHE_ON_EACH_ENGINE(CodeCommands);

}  // namespace
}  // namespace cloche
