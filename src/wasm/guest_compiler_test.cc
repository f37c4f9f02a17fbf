// SPDX-License-Identifier: Apache-2.0
// Compiling what a guest brings: whatever the program is, the compiler stays within its limits, and
// ends when nobody waits for it.
#include "wasm/guest_compiler.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "base/waiting_testing.h"
#include "wasm/compile_bomb_testing.h"
#include "wasm/compiled_code.h"
#include "wasm/wat_testing.h"

namespace cloche::wasm {
namespace {

using cloche::testing::within_a_minute;
using std::chrono::seconds;

const std::filesystem::path program = CLOCHE_BINARY_DIR "/bin/cloche-compile";

constexpr std::string_view answer = R"((module (func (export "f") (result i32) (i32.const 42))
  (memory (export "memory") 1) (data (i32.const 8) "data")))";

TEST(GuestCompiler, GivesCodeThatRuns) {
  ModuleStore store(test_engine(), {.guest_compiler = std::make_shared<GuestCompiler>(
                                        GuestCompiler::Options{.program = program})});
  const auto module = store.load(from_wat(answer), "answer");
  ASSERT_TRUE(module) << module.error().sentence();
  on_guest_thread([&] {
    Linker linker(test_engine());
    const auto guest = Instance::create(*linker.link(*module), {});
    ASSERT_TRUE(guest);
    EXPECT_EQ((*guest)->call("f").result, Value::i32(42));
    EXPECT_EQ(*(*guest)->memory().read_string(8, 10), "data");
  });
  EXPECT_FALSE(compiler_lives(getpid()));
}

TEST(GuestCompiler, SaysWhatIsWrongWithAProgram) {
  GuestCompiler compiler({.program = program});
  std::vector<std::byte> bad = from_wat(answer);
  bad[bad.size() / 2] ^= std::byte{0x55};
  bad.resize(bad.size() - 3);
  const Error why = compiler.compile(bad, {}).error();
  EXPECT_EQ(why.code(), Errno::noexec);
  EXPECT_TRUE(why.sentence().starts_with("not a valid program")) << why.sentence();
  EXPECT_EQ(compiler.compile({}, {}).error().code(), Errno::noexec);
}

TEST(GuestCompiler, WithoutItsProgramRefuses) {
  const Error why = GuestCompiler({}).compile(from_wat(answer), {}).error();
  EXPECT_EQ(why.code(), Errno::noexec);
  EXPECT_NE(why.sentence().find("cloche-compile"), std::string::npos);
  EXPECT_FALSE(GuestCompiler({.program = "/nowhere/cloche-compile"}).compile(from_wat(answer), {}));
}

TEST(GuestCompiler, ABombEndsAtTheLimitsOfMemoryAndTime) {
  constexpr std::uint64_t limit = 192 << 20;
  GuestCompiler compiler(
      {.program = program, .cpu_limit = seconds(2), .memory_limit_bytes = limit});
  for (const auto& bomb : {compile_bomb(2000, 1000), compile_bomb(300, 12'000)}) {
    const auto budget = std::make_shared<MemoryBudget>(std::uint64_t{1} << 30);
    const auto code = compiler.compile(bomb, {.budget = budget, .give_up = {}});
    ASSERT_FALSE(code) << bomb.size();
    const Error& why = code.error();
    EXPECT_TRUE(why == Errno::nomem || why == Errno::noexec) << why.sentence();
    EXPECT_TRUE(why.sentence().starts_with("not compiled: that takes more than")) << why.sentence();
    EXPECT_EQ(budget->used_bytes(), 0U);
  }
  // Of the largest child so far; its text and libraries are shared with others.
  rusage children{};
  getrusage(RUSAGE_CHILDREN, &children);
  EXPECT_LT(static_cast<std::uint64_t>(children.ru_maxrss) << 10, limit + (96 << 20));
  EXPECT_FALSE(compiler_lives(getpid()));
}

TEST(GuestCompiler, IsChargedToTheBudgetWhileItWorksAndEndsWhenItIsGivenUp) {
  GuestCompiler compiler({.program = program});
  const auto budget = std::make_shared<MemoryBudget>(std::uint64_t{2} << 30);
  std::uint64_t charged = 0;
  const CompileFor whom{.budget = budget, .give_up = [&] {
                          charged = budget->used_bytes();
                          return compiler_lives(getpid());
                        }};
  EXPECT_EQ(compiler.compile(slow_compile_bomb(), whom).error().code(), Errno::intr);
  EXPECT_GE(charged, 40U << 20);
  EXPECT_EQ(budget->used_bytes(), 0U);
  EXPECT_FALSE(compiler_lives(getpid()));
}

TEST(GuestCompiler, NeedsWhatTheSandboxHas) {
  GuestCompiler compiler({.program = program});
  const auto budget = std::make_shared<MemoryBudget>(32 << 20);
  const Error why = compiler.compile(from_wat(answer), {.budget = budget, .give_up = {}}).error();
  EXPECT_EQ(why.code(), Errno::nomem);
  EXPECT_NE(why.sentence().find("which the sandbox does not have"), std::string::npos);
}

// Compiles from when it is there until it is told to stop.
class Endless {
 public:
  Endless(GuestCompiler& compiler, std::shared_ptr<MemoryBudget> budget)
      : thread_([this, &compiler, budget = std::move(budget)] {
          const CompileFor whom{.budget = budget, .give_up = [this] { return stop_.load(); }};
          EXPECT_EQ(compiler.compile(slow_compile_bomb(), whom).error().code(), Errno::intr);
        }) {
    EXPECT_TRUE(within_a_minute([] { return compiler_lives(getpid()); }));
  }
  void stop() {
    stop_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

// Who wants to compile finds no place, and gives up.
bool waits(GuestCompiler& compiler, const std::shared_ptr<MemoryBudget>& budget) {
  int looks = 0;
  const CompileFor whom{.budget = budget, .give_up = [&] { return ++looks > 3; }};
  const auto made = compiler.compile(from_wat(answer), whom);
  return !made && made.error().code() == Errno::intr;
}

TEST(GuestCompiler, FewWorkAtATimeAndWhoWaitsCanGiveUp) {
  GuestCompiler compiler({.program = program, .max_at_once = 1});
  Endless first(compiler, nullptr);
  EXPECT_TRUE(waits(compiler, nullptr));
  first.stop();
  EXPECT_TRUE(compiler.compile(from_wat(answer), {}));
}

TEST(GuestCompiler, OneOwnersLeaveAPlaceToOthers) {
  GuestCompiler compiler({.program = program, .max_at_once = 2});
  const auto of = [](const char* owner) {
    auto budget = std::make_shared<MemoryBudget>(std::uint64_t{4} << 30);
    budget->set_owner(Owner::named(owner));
    return budget;
  };
  const auto ann = of("ann"), anns_other = of("ann"), bob = of("bob");
  Endless first(compiler, ann);
  EXPECT_TRUE(waits(compiler, anns_other));
  EXPECT_TRUE(compiler.compile(from_wat(answer), {.budget = bob, .give_up = {}}));
  first.stop();
  EXPECT_TRUE(compiler.compile(from_wat(answer), {.budget = anns_other, .give_up = {}}));
}

TEST(GuestCompiler, DiesWithItsParent) {
  const pid_t parent = fork();
  if (parent == 0) {
    (void)GuestCompiler({.program = program}).compile(slow_compile_bomb(), {});
    _exit(0);
  }
  ASSERT_GT(parent, 0);
  EXPECT_TRUE(within_a_minute([&] { return compiler_lives(parent); }));
  kill(parent, SIGKILL);
  EXPECT_EQ(waitpid(parent, nullptr, 0), parent);
  EXPECT_TRUE(within_a_minute([&] { return !compiler_lives(parent); }));
}

}  // namespace
}  // namespace cloche::wasm
