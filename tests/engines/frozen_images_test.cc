// SPDX-License-Identifier: Apache-2.0
// What an interpreter cannot take along into a fork of the linux engine is told, and what a guest
// forges of an image is its own affair.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

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

// What the host takes of an image is bounded by what it says it is, and that by the sandbox's memory.
TEST_P(FrozenImages, MayBeNoLargerThanTheyAreSaidToBe) {
  const auto reason_of_size = [&](const std::string& bytes) {
    SandboxOptions options;
    options.memory_limit_bytes = 128 << 20;
    return reason_after(
        "import os, struct\n"
        "def fork():\n"
        "    child = real_fork()\n"
        "    if child == 0:\n"
        "        head = open('/tmp/head', 'rb').read()[:8] + struct.pack('<Q', " +
            bytes +
            ")\n"
            "        os.write(6, head)\n"
            "        for _ in range(200): os.write(6, bytes(1 << 20))\n"
            "        os._exit(0)\n"
            "    return child\n"
            "import ctypes\n"
            "write = ctypes.PyDLL('/proc/self/fd/5').cloche_freeze\n"
            "real_fork, child = os.fork, os.fork()\n"
            "if child == 0:\n"
            "    write(os.open('/tmp/head', os.O_RDWR | os.O_CREAT), ctypes.c_long(0))\n"
            "    os._exit(0)\n"
            "os.waitpid(child, 0)\n"
            "os.fork = fork",
        options);
  };
  EXPECT_EQ(reason_of_size("1 << 40"),
            "the live Python is not in this fork: its image was larger than the sandbox's memory, "
            "and began anew");
  EXPECT_EQ(reason_of_size("1 << 20"),
            "the live Python is not in this fork: it could not go on there, and began anew");
}

TEST_P(FrozenImages, AreNotOfWhatIsKilledMeanwhile) {
  EXPECT_EQ(reason_after("import os\n"
                         "def fork():\n"
                         "    child = real_fork()\n"
                         "    if child: os.kill(child, 9)\n"
                         "    return child\n"
                         "real_fork, os.fork = os.fork, fork\n"
                         "state = bytearray(64 << 20)"),
            "the live Python is not in this fork: it could not be frozen, and began anew");
  const auto sandbox = make_sandbox();
  ASSERT_EQ(sandbox->run_python("import os\nos.fork = lambda: os.kill(os.getpid(), 9)").exit_code,
            0);
  const auto twin = sandbox->fork();
  const std::string reason =
      "the live Python is not in this fork: it ended before it was frozen, and began anew";
  EXPECT_EQ(twin->run_python("1").reason, reason);
  EXPECT_EQ(sandbox->run_python("1").reason, reason);
}

// Which file in memory it has most of what it is from.
constexpr const char* image_line =
    "import re; print(max(re.findall(r'^(\\w+)-(\\w+) .* (\\d+) +(/(?:memfd:)?cloche\\S*)', "
    "open('/proc/self/maps').read(), re.M), key=lambda m: int(m[1], 16) - int(m[0], 16))[2:])";

class SharedImages : public FrozenImages {
 protected:
  std::unique_ptr<Sandbox> make_parent() const {
    auto parent = make_sandbox();
    EXPECT_EQ(parent->run_python("state = bytearray(b'1') * (8 << 20)").exit_code, 0);
    return parent;
  }
  // Of a fork, that has the state.
  static std::string image_of(Sandbox& parent) {
    const auto twin = parent.fork();
    EXPECT_EQ(twin->run_python("state[0] = 50; print(len(state), state[1])").stdout_data,
              "8388608 49\n");
    return twin->run_python(image_line).stdout_data;
  }
};

TEST_P(SharedImages, AreOfForksBetweenWhichItHasDoneNothing) {
  const auto parent = make_parent();
  const std::string first = image_of(*parent);
  EXPECT_NE(first, "");
  EXPECT_EQ(image_of(*parent), first);
  EXPECT_EQ(parent->run_python("print(state[0])").stdout_data, "49\n");
  const std::string second = image_of(*parent);
  EXPECT_NE(second, first);
  EXPECT_EQ(image_of(*parent), second);
}

TEST_P(SharedImages, AreAsThePythonIsNow) {
  const auto parent = make_parent();
  (void)image_of(*parent);
  ASSERT_EQ(parent->run_python("state[1] = 50").exit_code, 0);
  const auto twin = parent->fork();
  EXPECT_EQ(twin->run_python("print(state[1])").stdout_data, "50\n");
}

// What a handler does while nobody asks for anything is in the next image.
TEST_P(SharedImages, AreNotOfOneThatSignalsReach) {
  const auto parent = make_parent();
  ASSERT_EQ(parent
                ->run_python("import os, signal\n"
                             "def hear(*_):\n  state[2] += 1\n  open('/tmp/heard', 'w')\n"
                             "signal.signal(signal.SIGUSR1, hear)\n"
                             "open('/tmp/pid', 'w').write(str(os.getpid()))")
                .exit_code,
            0);
  const std::string first = image_of(*parent);
  EXPECT_NE(image_of(*parent), first);
  ASSERT_EQ(parent
                ->run({.script = "kill -USR1 $(cat /tmp/pid); "
                                 "until [ -e /tmp/heard ]; do :; done"})
                .exit_code,
            0);
  const auto twin = parent->fork();
  EXPECT_EQ(twin->run_python("print(state[2])").stdout_data, "50\n");
}

TEST_P(SharedImages, AreNotOfOneThatHasThreadsOfC) {
  const auto parent = make_parent();
  ASSERT_EQ(
      parent
          ->run_python("import ctypes\nlibrary = ctypes.CDLL(None)\n"
                       "thread = ctypes.c_ulong()\n"
                       "library.pthread_create(ctypes.byref(thread), None, library.pause, None)")
          .exit_code,
      0);
  const std::string first = image_of(*parent);
  EXPECT_NE(first, "");
  EXPECT_NE(image_of(*parent), first);
}

// A library whose file is another now is named by no image that was written before.
TEST_P(SharedImages, AreNotOfFilesThatAreOthersNow) {
  const auto parent = make_parent();
  ASSERT_EQ(parent
                ->run_python("import mmap, os\nopen('/workspace/f', 'wb').write(b'old!' * 1024)\n"
                             "file = os.open('/workspace/f', os.O_RDONLY)\n"
                             "words = mmap.mmap(file, 4096, prot=mmap.PROT_READ, "
                             "flags=mmap.MAP_PRIVATE)")
                .exit_code,
            0);
  (void)image_of(*parent);
  ASSERT_EQ(parent->run({.script = "printf %4096s new >f.new && mv f.new f"}).exit_code, 0);
  const auto twin = parent->fork();
  EXPECT_EQ(twin->run_python("print(words[:4])").stdout_data, "b'old!'\n");
}

TEST_P(SharedImages, AreOfManyForksAtOnce) {
  const auto parent = make_parent();
  std::vector<std::unique_ptr<Sandbox>> twins;
  twins.reserve(6);
  for (int i = 0; i < 6; ++i) twins.push_back(parent->fork());
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(twins[static_cast<std::size_t>(i)]
                  ->run_python("state[0] += " + std::to_string(i) + "; print(state[0])")
                  .stdout_data,
              std::to_string(49 + i) + "\n");
}

// It says that nothing has changed where there is no image any more, and where it may not.
TEST_P(SharedImages, ThatAreClaimedHarmNobodyElse) {
  const auto parent = make_parent();
  ASSERT_EQ(parent
                ->run_python("import os, struct\nos.write(4, bytes(4))\n"
                             "while os.read(3, 17)[16:] == b'z': os.write(4, struct.pack('<i', 5))")
                .exit_code,
            0);
  const auto twin = parent->fork();
  const RunResult result = twin->run_python("print('state' in dir())");
  EXPECT_EQ(result.stdout_data, "False\n");
  EXPECT_EQ(result.reason,
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

class SharedSessionImages : public PythonOnEachEngine {
 protected:
  void SetUp() override {
    PythonOnEachEngine::SetUp();
    if (!IsSkipped() && !native::test_image_has_python())
      GTEST_SKIP() << "this machine has no python3";
#ifndef __x86_64__
    GTEST_SKIP() << "an interpreter is frozen on x86-64 alone";
#endif
  }
};

TEST_P(SharedSessionImages, AreOfForksBetweenWhichItHasDoneNothing) {
  PythonSession parent = new_session();
  (void)printed(parent, "state = bytearray(8 << 20)");
  const auto image = [&] { return printed(*parent.fork(), image_line); };
  const std::string first = image();
  EXPECT_NE(first, "");
  EXPECT_EQ(image(), first);
  (void)printed(parent, "state[0] = 1");
  EXPECT_NE(image(), first);
  EXPECT_EQ(printed(*parent.fork(), "print(state[0])"), "1\n");
}

INSTANTIATE_TEST_SUITE_P(Engines, SharedSessionImages, ::testing::Values(EngineKind::native_linux),
                         [](const auto&) { return std::string("linux"); });
INSTANTIATE_TEST_SUITE_P(Engines, SharedImages, ::testing::Values(EngineKind::native_linux),
                         [](const auto&) { return std::string("linux"); });
INSTANTIATE_TEST_SUITE_P(Engines, FrozenImages, ::testing::Values(EngineKind::native_linux),
                         [](const auto&) { return std::string("linux"); });

}  // namespace
}  // namespace cloche::testing
