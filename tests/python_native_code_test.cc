// SPDX-License-Identifier: Apache-2.0
// What Rust and C code of Python's packages must not do: draw the same random numbers in two forks,
// take more with it than its own process, or write beyond a thread's stack.
#include <gmock/gmock.h>

#include <sstream>

#include "sandbox_testing.h"

namespace cloche::testing {
namespace {

using ::testing::HasSubstr;

TEST(NativeCodeOfPackages, DrawsOtherRandomNumbersInEachFork) {
  const auto sandbox = make_sandbox({.packages = {"bcrypt", "cryptography"}});
  ASSERT_EQ(sandbox
                ->run_python("import bcrypt\n"
                             "from cryptography.hazmat.primitives.asymmetric import ec\n"
                             "from cryptography.hazmat.primitives.ciphers.aead import AESGCM\n"
                             "def draw():\n"
                             "    key = ec.generate_private_key(ec.SECP256R1())\n"
                             "    return (AESGCM.generate_key(128).hex(), bcrypt.gensalt(),\n"
                             "            key.private_numbers().private_value)\n"
                             "before = draw()")
                .exit_code,
            0);
  const auto a = sandbox->fork();
  const auto b = sandbox->fork();
  const char* draw = "for drawn in draw(): print(drawn)";
  const auto drawn = [&](Sandbox& one) { return one.run_python(draw).stdout_data; };
  std::istringstream from_a(drawn(*a));
  std::istringstream from_b(drawn(*b));
  std::istringstream from_it(drawn(*sandbox));
  int lines = 0;
  for (std::string x, y, z;
       std::getline(from_a, x) && std::getline(from_b, y) && std::getline(from_it, z); ++lines) {
    EXPECT_NE(x, y);
    EXPECT_NE(x, z);
    EXPECT_NE(y, z);
  }
  EXPECT_EQ(lines, 3);
}

// Two keys of the same hash, whose comparison raises: rpds panics.
constexpr const char* panics = R"py(
from rpds import HashTrieMap
class Key:
    def __hash__(self): return 1
    def __eq__(self, other): raise ValueError('no')
print('begun', flush=True)
HashTrieMap([(Key(), 1), (Key(), 2)])
print('went on')
)py";

TEST(NativeCodeOfPackages, EndsItsProcessWhereItPanicsAndNothingElse) {
  const auto sandbox = make_sandbox({.packages = {"rpds-py"}});
  const RunResult alone = sandbox->run({.argv = {"python3", "-c", panics}});
  EXPECT_EQ(alone.stdout_data, "begun\n");
  EXPECT_EQ(alone.exit_code, 128 + 4) << alone.reason;
  EXPECT_THAT(alone.stderr_data, HasSubstr("panicked"));
  const RunResult beside = sandbox->run(
      {.argv = {"python3", "-c",
                "import subprocess, sys\n"
                "done = subprocess.run([sys.executable, '-c', sys.argv[1]], capture_output=True)\n"
                "print(done.returncode, done.stdout)",
                panics}});
  EXPECT_EQ(beside.stdout_data, "-4 b'begun\\n'\n") << beside.stderr_data;
  const RunResult in_a_thread =
      sandbox->run({.argv = {"python3", "-c",
                             "import sys, threading\n"
                             "thread = threading.Thread(target=exec, args=(sys.argv[1], {}))\n"
                             "thread.start()\n"
                             "thread.join()\n"
                             "print('went on')",
                             panics}});
  EXPECT_EQ(in_a_thread.stdout_data, "begun\n");
  EXPECT_EQ(in_a_thread.exit_code, 128 + 4) << in_a_thread.reason;
  EXPECT_EQ(sandbox->run({.argv = {"echo", "alive"}}).stdout_data, "alive\n");
}

TEST(NativeCodeOfPackages, EndsAKeptPythonWhereItPanics) {
  const auto sandbox = make_sandbox({.packages = {"rpds-py"}});
  ASSERT_EQ(sandbox->run_python("x = 1").exit_code, 0);
  EXPECT_NE(sandbox->run_python(panics).exit_code, 0);
  EXPECT_EQ(sandbox->run_python("print('x' in globals())").stdout_data, "False\n");
}

TEST(NativeCodeOfPackages, StopsBeforeTheEndOfAThreadsStack) {
  const auto sandbox = make_sandbox({.packages = {"pydantic"}});
  const RunResult result = sandbox->run({.argv = {"python3", "-c", R"py(
import threading
from typing import Optional
from pydantic import BaseModel, ValidationError

class Node(BaseModel):
    child: Optional['Node'] = None

value = {}
for _ in range(250):
    value = {'child': value}

class Deeper:
    def __init__(self, left): self.left = left
    def __repr__(self):
        if self.left: return repr(Deeper(self.left - 1))
        try:
            Node.model_validate(value)
            ends.add('whole')
        except ValidationError as error:
            ends.add(error.errors()[0]['type'])
        return ''

ends = set()

def run():
    for left in range(0, 4000, 40):
        try:
            repr(Deeper(left))
        except RecursionError:
            ends.add('RecursionError')

thread = threading.Thread(target=run)
thread.start()
thread.join()
print(sorted(ends))
)py"}});
  EXPECT_EQ(result.exit_code, 0) << result.reason << result.stderr_data;
  EXPECT_THAT(result.stdout_data, HasSubstr("'RecursionError'"));
  EXPECT_THAT(result.stdout_data, HasSubstr("'whole'"));
}

}  // namespace
}  // namespace cloche::testing
