// SPDX-License-Identifier: Apache-2.0
// What an interpreter cannot take along into a fork of the linux engine is told, and what a guest
// forges of an image is its own affair.
#include <gtest/gtest.h>

#include <string>

#include "cloche/sandbox.h"
#include "engines_testing.h"
#include "native/host/test_image_testing.h"

namespace cloche::testing {
namespace {

class FrozenImages : public OnEachEngine {
 protected:
  void SetUp() override {
    OnEachEngine::SetUp();
    if (IsSkipped()) return;
    if (!native::test_image_has_python()) GTEST_SKIP() << "this machine has no python3";
#ifndef __x86_64__
    GTEST_SKIP() << "an interpreter is frozen on x86-64 alone";
#endif
  }

  // What the first call in a fork says, where the interpreter had done this before.
  std::string reason_after(std::string_view source, const SandboxOptions& options = {}) const {
    const auto sandbox = make_sandbox(options);
    EXPECT_EQ(sandbox->run_python("x = 5").exit_code, 0);
    const RunResult before = sandbox->run_python(source);
    EXPECT_EQ(before.exit_code, 0) << before.stderr_data;
    const auto twin = sandbox->fork();
    const RunResult first = twin->run_python("print('x' in dir())");
    EXPECT_EQ(first.stdout_data, "False\n") << first.stderr_data;
    EXPECT_EQ(twin->run_python("1").reason, "");
    EXPECT_EQ(sandbox->run_python("print(x)").stdout_data, "5\n");
    return first.reason;
  }
};

TEST_P(FrozenImages, GoOnWhereTheyWere) {
  const auto sandbox = make_sandbox();
  ASSERT_EQ(
      sandbox
          ->run_python("import os, signal\nos.makedirs('/tmp/there')\nos.chdir('/tmp/there')\n"
                       "open('a', 'w').write('x')\nos.umask(0o77)\n"
                       "signal.signal(signal.SIGUSR1, lambda *_: print('heard'))")
          .exit_code,
      0);
  const auto twin = sandbox->fork();
  const RunResult result = twin->run_python(
      "print(os.getcwd(), open('a').read(), oct(os.umask(0)))\n"
      "os.kill(os.getpid(), signal.SIGUSR1)\n"
      "import subprocess, threading\n"
      "threading.Thread(target=print, args=('a thread',)).start()\n"
      "print(subprocess.run(['echo', 'a child'], capture_output=True, text=True).stdout, end='')");
  EXPECT_EQ(result.stdout_data, "/tmp/there x 0o77\nheard\na thread\na child\n")
      << result.stderr_data << result.reason;
}

TEST_P(FrozenImages, AreNotOfThreads) {
  EXPECT_EQ(reason_after("import threading, time\n"
                         "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()"),
            "the live Python is not in this fork: it had threads, and began anew");
}

TEST_P(FrozenImages, AreNotOfMemoryThatOthersHave) {
  EXPECT_EQ(reason_after("import mmap; shared = mmap.mmap(-1, 4096)"),
            "the live Python is not in this fork: it shared memory with other processes, or its "
            "addresses were taken, and began anew");
}

TEST_P(FrozenImages, NeedWhatTheyAreMadeBy) {
  SandboxOptions begins_by_itself;  // so that it has not loaded the library before
  begins_by_itself.environment = {{"PYTHONPATH", "/opt"}};
  EXPECT_EQ(reason_after("import os; os.close(5)", begins_by_itself),
            "the live Python is not in this fork: it has no ctypes, or its C library is not glibc, "
            "and began anew");
  EXPECT_EQ(reason_after("import os; os.write(6, b'x' * 100)"),
            "the live Python is not in this fork: its image was not whole, and began anew");
  EXPECT_EQ(reason_after("import os; os.close(6)"),
            "the live Python is not in this fork: it could not be frozen, and began anew");
  EXPECT_EQ(reason_after("import os\ndef fork(): raise OSError()\nos.fork = fork"),
            "the live Python is not in this fork: it could not be frozen, and began anew");
}

// It takes the order by itself, and answers with an image that it has changed.
constexpr const char* forge = R"py(
import ctypes, os, random, struct
def forge(seed):
    chance = random.Random(seed)
    symbols = ctypes.PyDLL(None)
    write = ctypes.PyDLL('/proc/self/fd/5').cloche_freeze
    file = os.open('/tmp/image', os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    child = os.fork()
    if child == 0:
        write(file, ctypes.c_long(0))
        os._exit(0)
    os.waitpid(child, 0)
    image = bytearray(open('/tmp/image', 'rb').read())
    for _ in range(chance.choice((1, 4, 64))):
        place = chance.randrange(16, chance.choice((200, 4096, 65536)))
        image[place] = chance.choice((0, 255, chance.randrange(256)))
    os.write(4, bytes(4))
    assert os.read(3, 8) == b'\xff' * 8
    sent = 0
    while sent < len(image):
        sent += os.write(6, image[sent:])
    os.write(4, bytes(4))
    os._exit(0)
)py";

TEST_P(FrozenImages, ThatAreForgedHarmNobodyElse) {
  constexpr int rounds = 24;
  for (int round = 0; round < rounds; ++round) {
    const auto sandbox = make_sandbox();
    ASSERT_EQ(sandbox->run_python(forge).exit_code, 0);
    (void)sandbox->run_python("forge(" + std::to_string(round) + ")");
    const auto twin = sandbox->fork();
    (void)twin->run_python("print(1)", {.timeout = std::chrono::milliseconds(2000)});
    EXPECT_EQ(twin->run({.script = "echo fine"}).stdout_data, "fine\n") << round;
    EXPECT_EQ(sandbox->run({.script = "echo fine"}).stdout_data, "fine\n") << round;
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, FrozenImages, ::testing::Values(EngineKind::native_linux),
                         [](const auto&) { return std::string("linux"); });

}  // namespace
}  // namespace cloche::testing
