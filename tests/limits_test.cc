// SPDX-License-Identifier: Apache-2.0
// Limits: each is reached on purpose, ends in a clear result, and leaves the sandbox usable.
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <optional>
#include <random>
#include <sstream>
#include <thread>

#include "base/resident_memory.h"
#include "base/waiting_testing.h"
#include "sandbox_testing.h"
#include "wasm/compile_bomb_testing.h"
#include "wasm/wat_testing.h"

namespace cloche::testing {
namespace {

using std::chrono::milliseconds;

void expect_usable(Sandbox& sandbox) {
  EXPECT_EQ(sandbox.run({.script = "echo alive | cat"}).stdout_data, "alive\n");
  EXPECT_EQ(sandbox.usage().processes, 0u);
}

class TimeLimit : public ::testing::TestWithParam<const char*> {};

TEST_P(TimeLimit, EndsTheWholeTree) {
  const auto sandbox = make_sandbox();
  const RunResult result = sandbox->run({.script = GetParam(), .timeout = milliseconds(150)});
  EXPECT_EQ(result.status, RunStatus::timed_out);
  EXPECT_EQ(result.exit_code, 124);
  EXPECT_NE(result.reason.find("150 ms"), std::string::npos);
  expect_usable(*sandbox);
}

INSTANTIATE_TEST_SUITE_P(Everywhere, TimeLimit,
                         ::testing::Values("while :; do :; done", "sleep 1000",
                                           "cat /dev/zero | sleep 1000", "mkfifo f; cat f",
                                           "sleep 1000 | sleep 1000 & wait",
                                           "trap '' TERM INT HUP; while :; do sleep 1; done",
                                           "yes > /dev/null", "(setsid sleep 1000 &) ; sleep 1000",
                                           "python3 -c 'while True: pass'", "kill -STOP $$"));

TEST(Limits, OutputBeforeTheTimeLimitIsKept) {
  const RunResult result =
      make_sandbox()->run({.script = "echo before; sleep 100", .timeout = milliseconds(300)});
  EXPECT_EQ(result.stdout_data, "before\n");
}

std::size_t mappings() {
  std::ifstream maps("/proc/self/maps");
  return static_cast<std::size_t>(
      std::count(std::istreambuf_iterator<char>(maps), std::istreambuf_iterator<char>(), '\n'));
}

// That no two of become one.
class Mappings {
 public:
  ~Mappings() {
    for (void* const one : all_) ::munmap(one, page);
  }
  void make(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const int right = all_.size() % 2 == 0 ? PROT_READ : PROT_NONE;
      void* const one = ::mmap(nullptr, page, right, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (one != MAP_FAILED) all_.push_back(one);
    }
  }

 private:
  static constexpr std::size_t page = 4096;
  std::vector<void*> all_;
};

// A process that has none left ends: no thread can be started, and no guest.
TEST(Limits, MappingsAreLeftToTheHost) {
  std::size_t most = 0;
  std::ifstream("/proc/sys/vm/max_map_count") >> most;
  std::vector<std::unique_ptr<Sandbox>> busy;
  for (int i = 0; i < 5; ++i) {
    busy.push_back(make_sandbox());
    EXPECT_EQ(busy.back()->run({.script = "for i in $(seq 60); do sleep 1000 & done"}).exit_code,
              0);
  }
  const auto sandbox = make_sandbox();
  const auto runs = [&] { return sandbox->run({.script = "true"}).exit_code == 0; };
  EXPECT_TRUE(runs());
  {
    Mappings filling;
    filling.make(most / 4 * 3 + most / 64 - mappings());
    EXPECT_TRUE(within_a_minute([&] { return !runs(); }));
    const RunResult refused = sandbox->run({.script = "true"});
    EXPECT_NE(refused.reason.find("mappings of memory"), std::string::npos) << refused.reason;
  }
  EXPECT_TRUE(within_a_minute(runs));
  expect_usable(*sandbox);
}

TEST(Limits, CapturedOutputIsBounded) {
  const auto sandbox = make_sandbox();
  const RunResult result =
      sandbox->run({.script = "head -c 5000000 /dev/zero", .output_limit_bytes = 1000});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.stdout_data.size(), 1000u);
  EXPECT_TRUE(result.stdout_truncated);
  EXPECT_FALSE(result.stderr_truncated);
}

TEST(Limits, FilesEndAtTheQuotaAndSpaceComesBack) {
  const auto sandbox = make_sandbox({.file_limit_bytes = 1 << 20});
  const RunResult full = sandbox->run({.script = "head -c 3000000 /dev/zero > big"});
  EXPECT_NE(full.exit_code, 0);
  EXPECT_NE(full.stderr_data.find("No space left on device"), std::string::npos);
  EXPECT_LE(sandbox->usage().file_bytes, std::uint64_t{1} << 20);
  EXPECT_EQ(sandbox->run({.script = "rm big; head -c 900000 /dev/zero > next"}).exit_code, 0);
  EXPECT_EQ(sandbox->files().write("more", std::string(200'000, 'x')).error(), Errno::nospc);
  expect_usable(*sandbox);
}

TEST(Limits, InodesAreCounted) {
  const auto sandbox = make_sandbox({.file_limit_inodes = 50});
  const RunResult result =
      sandbox->run({.script = "for i in $(seq 100); do : > f$i || exit 3; done"});
  EXPECT_NE(result.exit_code, 0);
  EXPECT_LE(sandbox->usage().file_inodes, 50u);
  expect_usable(*sandbox);
}

TEST(Limits, ProcessesAreBounded) {
  const auto sandbox = make_sandbox({.process_limit = 16});
  const RunResult bomb = sandbox->run(
      {.script = "f() { f | f & }; f; sleep 0.2; exit 0", .timeout = milliseconds(3000)});
  sandbox->cancel();
  EXPECT_NE(bomb.stderr_data.find("Resource temporarily unavailable"), std::string::npos);
  expect_usable(*sandbox);
}

TEST(Limits, MemoryIsBounded) {
  const auto sandbox = make_sandbox({.memory_limit_bytes = 160 << 20});
  const RunResult result =
      sandbox->run({.script = "python3 -c 'x = bytearray(400 << 20)'; echo $?"});
  EXPECT_NE(result.stderr_data.find("MemoryError"), std::string::npos) << result.stdout_data;
  expect_usable(*sandbox);
}

TEST(Limits, DeepRecursionIsAnError) {
  const auto sandbox = make_sandbox();
  const RunResult shell = sandbox->run({.script = "f() { f; }; f"});
  EXPECT_NE(shell.exit_code, 0);
  const RunResult python = sandbox->run({.script = "python3 -c 'def f(): f()\nf()'"});
  EXPECT_NE(python.stderr_data.find("RecursionError"), std::string::npos);
  expect_usable(*sandbox);
}

TEST(Limits, DescriptorsAreBounded) {
  const auto sandbox = make_sandbox({.open_file_limit = 32});
  const RunResult result =
      sandbox->run({.script = "for i in $(seq 100); do exec {fd}</dev/null || exit 5; done"});
  EXPECT_NE(result.exit_code, 0);
  expect_usable(*sandbox);
}

TEST(Limits, CancelEndsEveryRun) {
  const auto sandbox = make_sandbox();
  std::thread canceller([&] {
    while (sandbox->usage().processes == 0) std::this_thread::yield();
    sandbox->cancel();
  });
  const RunResult result = sandbox->run({.script = "sleep 1000"});
  canceller.join();
  EXPECT_EQ(result.status, RunStatus::killed);
  EXPECT_EQ(result.exit_code, 137);
  expect_usable(*sandbox);
}

// --- A sandbox as a whole ----------------------------------------------------------------------

void bring(Sandbox& sandbox, const std::string& name, const std::vector<std::byte>& program) {
  const std::string_view text(reinterpret_cast<const char*>(program.data()), program.size());
  ASSERT_TRUE(sandbox.files().write(name, text));
  ASSERT_EQ(sandbox.run({.script = "chmod +x " + name}).exit_code, 0);
}

// A run that is looked at from outside, and then cancelled.
class Background {
 public:
  Background(Sandbox& sandbox, std::string script)
      : sandbox_(sandbox), run_(std::async(std::launch::async, [&sandbox, script] {
          return sandbox.run({.script = script, .timeout = std::chrono::seconds(60)});
        })) {}
  ~Background() {
    do {
      sandbox_.cancel();
    } while (run_.wait_for(milliseconds(10)) != std::future_status::ready);
  }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

 private:
  Sandbox& sandbox_;
  std::future<RunResult> run_;
};

TEST(Limits, ProcessesThatCallNothingShareTheMemoryLimit) {
  constexpr std::uint64_t limit = 256 << 20;
  const auto sandbox = make_sandbox({.memory_limit_bytes = limit});
  // Takes what it gets, writes to all of it, and computes. Its memory is not exported.
  bring(*sandbox, "hoard", wasm::from_wat(R"((module (memory 1) (func (export "_start")
    (loop $more (br_if $more (i32.ne (memory.grow (i32.const 16)) (i32.const -1))))
    (memory.fill (i32.const 0) (i32.const 1) (i32.mul (memory.size) (i32.const 65536)))
    (loop $ever (br $ever)))))"));
  const std::uint64_t before = resident_bytes();
  const Background run(*sandbox, "for i in 1 2 3 4 5 6 7 8 9 10; do ./hoard & done; wait");
  // What the shell's forks had when the last of them asked for more is nobody's afterwards.
  EXPECT_TRUE(within_a_minute([&] {
    return sandbox->usage().memory_bytes > limit - (32 << 20) &&
           resident_bytes() > before + limit / 2;
  })) << sandbox->usage().memory_bytes
      << " of " << limit << ", " << resident_bytes() << " after " << before;
  for (int look = 0; look < 1000; ++look) {
    EXPECT_LE(sandbox->usage().memory_bytes, limit);
    ASSERT_LT(resident_bytes(), before + limit + (96 << 20));
    std::this_thread::yield();
  }
}

TEST(Limits, TheCompilerOfAProgramEndsWithTheRun) {
  const auto sandbox = make_sandbox();
  bring(*sandbox, "bomb", wasm::slow_compile_bomb());
  for (const RunOptions& options :
       {RunOptions{.script = "./bomb", .timeout = milliseconds(500)},
        RunOptions{.argv = {"/workspace/bomb"}, .timeout = milliseconds(500)}}) {
    const RunResult result = sandbox->run(options);
    EXPECT_EQ(result.status, RunStatus::timed_out) << result.reason << result.stderr_data;
    EXPECT_FALSE(wasm::compiler_lives(getpid()));
    expect_usable(*sandbox);
  }
  {
    const Background run(*sandbox, "./bomb");
    EXPECT_TRUE(within_a_minute([] { return wasm::compiler_lives(getpid()); }));
  }
  EXPECT_FALSE(wasm::compiler_lives(getpid()));
  EXPECT_LT(sandbox->usage().memory_bytes, std::uint64_t{1} << 20);
}

// What takes a while to compile, which nobody has done before, and none to run.
std::vector<std::byte> long_program() {
  std::string body = "(func (param i32) (result i32) local.get 0 ";
  for (int i = 0; i < 100; ++i) body += "i32.const 7 i32.mul local.get 0 i32.xor ";
  std::string text = fmt::format("(module (func (export \"_start\")) (global i32 (i32.const {}))",
                                 static_cast<std::int32_t>(std::random_device()()));
  for (int i = 0; i < 1500; ++i) text += body + ")";
  return wasm::from_wat(text + ")");
}

// Its compiler's place and the turn of that program go on to others.
TEST(Limits, AStoppedProcessKeepsNobodyFromItsProgram) {
  const auto sandbox = make_sandbox(), other = make_sandbox();
  const std::vector<std::byte> program = long_program();
  bring(*sandbox, "slow", program);
  bring(*other, "slow", program);
  const Background run(*sandbox, "./slow & echo $! > pid; wait");
  ASSERT_TRUE(within_a_minute([] { return wasm::compiler_lives(getpid()); }));
  EXPECT_EQ(sandbox->run({.script = "kill -STOP $(cat pid)"}).exit_code, 0);
  const RunResult result = other->run({.script = "./slow", .timeout = std::chrono::minutes(1)});
  EXPECT_EQ(result.status, RunStatus::exited) << result.reason;
  EXPECT_EQ(result.exit_code, 0) << result.stderr_data;
}

TEST(Limits, ArgumentsAreAsManyAsFitOnLinux) {
  const auto sandbox = make_sandbox();
  EXPECT_EQ(sandbox->run({.script = "/bin/true $(seq 100000)"}).exit_code, 0);
  EXPECT_EQ(sandbox->run({.script = "/bin/true $(seq 200000) 2>/dev/null"}).exit_code, 126);
}

// Also while it is read, by many at a time: what begins as one, and is too large for the rest.
TEST(Limits, AProgramThatIsReadIsMemory) {
  constexpr std::uint64_t limit = 256 << 20;
  const auto sandbox = make_sandbox({.memory_limit_bytes = limit});
  std::string content("\0asm\1\0\0\0\0\x80\x80\x80\x18", 13);  // a custom section of 48 MiB
  content.resize(content.size() + (48 << 20), 'x');
  ASSERT_TRUE(sandbox->files().write("/workspace/large", content, 0755));
  content = {};
  const std::uint64_t before = resident_bytes();
  std::uint64_t most = 0;
  std::future<RunResult> run = std::async(std::launch::async, [&] {
    return sandbox->run({.script = "for i in $(seq 24); do ./large & done; wait",
                         .timeout = std::chrono::seconds(60)});
  });
  while (run.wait_for(milliseconds(1)) != std::future_status::ready)
    most = std::max(most, resident_bytes());
  EXPECT_NE(run.get().stderr_data.find("Cannot allocate memory"), std::string::npos);
  EXPECT_LT(most, before + limit + (96 << 20));
  sandbox->cancel();  // what a shell without memory has left
  expect_usable(*sandbox);
}

TEST(Limits, AStartFunctionThatCallsTheSystemEndsItsProgramAlone) {
  const auto sandbox = make_sandbox();
  constexpr std::string_view clone = "(call $clone (i32.const 0) (i32.const 0) (i32.const 0))";
  const auto call = [](int number) {
    return fmt::format(
        "(call $syscall (i32.const {}) (i32.const 0) (i32.const 4096) (i32.const 3) "
        "(i32.const 34) (i32.const -1) (i32.const 0))",
        number);
  };
  constexpr int mmap = 222, msync = 227, exit_group = 94;
  for (const std::string& what : {std::string(clone), call(mmap), call(msync), call(exit_group)}) {
    bring(*sandbox, "starts",
          wasm::from_wat(fmt::format(R"((module
      (import "linux" "syscall"
        (func $syscall (param i32 i32 i32 i32 i32 i32 i32) (result i32)))
      (import "linux" "clone" (func $clone (param i32 i32 i32) (result i32)))
      (memory (export "memory") 1) (func $begin (drop {})) (start $begin)
      (func (export "_start"))))",
                                     what)));
    EXPECT_NE(sandbox->run({.script = "./starts"}).exit_code, 0) << what;
    expect_usable(*sandbox);
  }
}

std::size_t threads_here() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

TEST(Limits, ThreadsOfInterpretersAreThoseOfTheSandboxTogether) {
  constexpr std::size_t most = 512;
  const auto sandbox = make_sandbox();
  // Begins as many threads as there can be, whose stacks cost it nothing, and stays.
  bring(*sandbox, "begins", wasm::from_wat(R"((module
    (import "host" "call" (func $call (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 1)
    (global (export "__stack_pointer") (mut i32) (i32.const 0))
    (func (export "cloche_thread_start") (param i32))
    (func (export "cloche_thread_swap") (param i32) (result i32) (i32.const 1))
    (func (export "host_alloc") (param i32) (result i32) (i32.const 16))
    (func (export "_start") (local $i i32)
      (loop $more
        (i32.store (i32.const 0) (i32.const 0x30726874))
        (drop (call $call (i32.const 0) (i32.const 8) (i32.const 1000) (i32.const 1004)))
        (br_if $more (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1)))
                               (i32.const 200))))
      (loop $ever (br $ever)))))"));
  const std::size_t before = threads_here();
  const Background run(*sandbox, "for i in 1 2 3 4 5 6 7 8; do ./begins & done; wait");
  EXPECT_TRUE(within_a_minute([&] { return threads_here() >= before + most; }));
  for (int look = 0; look < 200; ++look) {
    EXPECT_LT(threads_here(), before + most + 100);
    std::this_thread::sleep_for(milliseconds(2));
  }
}

TEST(Limits, ACompilerNeedsTheSandboxsMemory) {
  const auto sandbox = make_sandbox({.memory_limit_bytes = 48 << 20});
  bring(*sandbox, "tiny", wasm::from_wat("(module (func (export \"_start\")))"));
  const RunResult result = sandbox->run({.script = "./tiny"});
  EXPECT_EQ(result.exit_code, 126);
  EXPECT_NE(result.stderr_data.find("Cannot allocate memory"), std::string::npos)
      << result.stderr_data;
  expect_usable(*sandbox);
}

// How many threads of this process have a lower priority than is usual in it.
std::size_t lowered_threads() {
  // The thread of timers has that of the process, and keeps it.
  std::optional<int> usual;
  std::vector<int> all;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(entry.path() / "stat");
    std::string text;
    std::getline(file, text);
    std::istringstream fields(text.substr(std::min(text.rfind(')') + 1, text.size())));
    std::string word;
    // The nineteenth of all, the second being the name.
    for (int i = 3; i <= 19; ++i) fields >> word;
    if (word.empty()) continue;
    all.push_back(std::stoi(word));
    if (text.find("(cloche-timers)") != text.npos) usual = all.back();
  }
  return static_cast<std::size_t>(
      std::ranges::count_if(all, [&](int one) { return usual && one > *usual; }));
}

TEST(Limits, BusyProcessesBeyondTheFirstFewHaveALowPriority) {
  constexpr const char* busy = "for i in 1 2 3 4 5 6 7 8; do while :; do :; done & done; wait";
  const auto sandbox = make_sandbox({.cpus = 2});
  // A process that begins parked and one that sleeps do not count.
  RunOptions kept{.script = "sleep 0.01", .shell = ShellState::kept};
  for (int i = 0; i < 3; ++i) EXPECT_EQ(sandbox->run(kept).exit_code, 0);
  EXPECT_EQ(lowered_threads(), 0U);
  {
    const Background run(*sandbox, busy);
    EXPECT_TRUE(within_a_minute([] { return lowered_threads() >= 6; }));
    EXPECT_LE(lowered_threads(), 8U);
  }
  // A lowered thread is not used again: the next run is as fast as any.
  EXPECT_TRUE(within_a_minute([] { return lowered_threads() == 0; }));
  const auto wide = make_sandbox({.cpus = 60});
  const Background run(*wide, busy);
  EXPECT_TRUE(within_a_minute([&] { return wide->usage().processes >= 9; }));
  EXPECT_EQ(lowered_threads(), 0U);
}

}  // namespace
}  // namespace cloche::testing
