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
  const auto sandbox = make_sandbox({.packages = {"bcrypt", "cryptography", "uuid-utils"}});
  ASSERT_EQ(
      sandbox
          ->run_python("import bcrypt, uuid_utils\n"
                       "from cryptography.hazmat.primitives.asymmetric import ec\n"
                       "from cryptography.hazmat.primitives.ciphers.aead import AESGCM\n"
                       "def draw():\n"
                       "    key = ec.generate_private_key(ec.SECP256R1())\n"
                       "    return (AESGCM.generate_key(128).hex(), bcrypt.gensalt(),\n"
                       "            key.private_numbers().private_value, uuid_utils.uuid4(),\n"
                       "            uuid_utils.uuid7(timestamp=1, nanos=2))\n"
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
  EXPECT_EQ(lines, 5);
}

TEST(NativeCodeOfPackages, GoesOnInEachForkWithWhatIsHalfDone) {
  const auto sandbox = make_sandbox({.packages = {"xxhash", "zstandard"}});
  ASSERT_EQ(
      sandbox
          ->run_python("import io, xxhash, zstandard\n"
                       "hasher = xxhash.xxh3_128(b'begun', seed=7)\n"
                       "box = io.BytesIO()\n"
                       "writer = zstandard.ZstdCompressor().stream_writer(box, closefd=False)\n"
                       "writer.write(b'begun ' * 100000)")
          .exit_code,
      0);
  const auto fork = sandbox->fork();
  const auto end = [](Sandbox& one, const std::string& text) {
    const RunResult ended =
        one.run_python("hasher.update(b'" + text +
                       "')\n"
                       "writer.write(b'" +
                       text +
                       "')\n"
                       "writer.close()\n"
                       "whole = zstandard.decompress(box.getvalue(), 1 << 20)\n"
                       "print(hasher.digest() == xxhash.xxh3_128_digest(b'begun" +
                       text +
                       "', 7),\n"
                       "      whole == b'begun ' * 100000 + b'" +
                       text + "')");
    return ended.stdout_data + ended.stderr_data;
  };
  EXPECT_EQ(end(*fork, "there"), "True True\n");
  EXPECT_EQ(end(*sandbox, "here"), "True True\n");
}

TEST(NativeCodeOfPackages, SaysThatThereIsNoMemory) {
  const auto sandbox = make_sandbox(
      {.memory_limit_bytes = 400 << 20, .packages = {"ormsgpack", "xxhash", "zstandard"}});
  const RunResult result = sandbox->run({.argv = {"python3", "-c", R"py(
import ormsgpack, xxhash, zstandard

def attempt(function, *arguments):
    try:
        print(len(function(*arguments)))
    except Exception as error:
        print(type(error).__name__, error)

data = bytes(20 << 20)
attempt(ormsgpack.packb, [data] * 40)
attempt(ormsgpack.packb, {str(i): 'text' * i for i in range(100)})
head = bytes.fromhex('28b52ffde0')
attempt(zstandard.decompress, head + (1 << 30).to_bytes(8, 'little') + bytes(20))
attempt(zstandard.decompress, head + (1 << 40).to_bytes(8, 'little') + bytes(20))
attempt(zstandard.ZstdDecompressor().decompress, zstandard.compress(data), 0)
attempt(lambda: [xxhash.xxh3_64() for _ in range(10_000_000)])
print(xxhash.xxh64_hexdigest(b'alive'))
)py"}});
  EXPECT_EQ(result.exit_code, 0) << result.reason << result.stderr_data;
  EXPECT_EQ(result.stdout_data,
            "MemoryError \n20321\nMemoryError \n"
            "ZstdError frame is too large to decompress on this platform\n20971520\n"
            "MemoryError \n7c95751d890590b6\n");
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
