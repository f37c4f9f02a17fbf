// SPDX-License-Identifier: Apache-2.0
// Programs of the base layer whose compiler is slow: what waits for it, and in whose time.
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <future>
#include <latch>
#include <thread>

#include "base/temp_dir_testing.h"
#include "base/waiting_testing.h"
#include "kernel/kernel.h"
#include "kernel/linux/dispatch.h"
#include "kernel/process/exec.h"
#include "kernel/process/spawn_request.h"
#include "kernel/time/timer_thread.h"
#include "vfs/base_builder.h"
#include "vfs/memfs.h"
#include "wasm/guest_threads.h"
#include "wasm/wat_testing.h"

namespace cloche::kernel {
namespace {

using namespace std::chrono_literals;

class SystemProgramTest : public ::testing::Test {
 protected:
  SystemProgramTest() { lnx::define_imports(linker_); }
  ~SystemProgramTest() override { let_compile(); }

  // A kernel with the program /own, whose compiler works until let_compile().
  std::unique_ptr<Kernel> kernel_with(ProgramOrigin origin) {
    const std::vector<std::byte> wasm = wasm::from_wat(R"((module (func (export "_start"))))");
    const std::filesystem::path file = folder_.path() / "own.wasm";
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(wasm.data()),
               static_cast<std::streamsize>(wasm.size()));
    vfs::BaseBuilder builder;
    const ProgramTag tag = programs_.add(file, {}, wasm::Interruption::epochs, origin);
    EXPECT_TRUE(builder.add_program("own", tag, vfs::SharedBytes::map_file(file.string())));
    base_ = builder.freeze();
    auto files = std::make_unique<vfs::Namespace>(
        vfs::make_fs<vfs::MemFs>(base_, vfs::Quota{}, vfs::host_clock()));
    return std::make_unique<Kernel>(
        KernelServices{wasm::test_engine(), threads_, programs_, timers_}, std::move(files),
        KernelOptions{});
  }

  static SpawnRequest own(const std::shared_ptr<RunClock>& clock = nullptr,
                          const std::stop_token& stop = {}) {
    SpawnRequest request;
    request.path = "/own";
    request.argv = {"own"};
    request.clock = clock;
    request.stop = stop;
    return request;
  }

  void let_compile() {
    if (!released_.exchange(true)) may_compile_.count_down();
  }

  TempDir folder_;
  std::latch compiles_{1};
  std::latch may_compile_{1};
  std::atomic<bool> released_ = false;
  std::atomic<int> compilers_ = 0;
  wasm::ModuleStore modules_{wasm::test_engine(),
                             {.on_compile = [this](std::string_view, std::uint64_t) {
                               if (compilers_++ == 0) compiles_.count_down();
                               may_compile_.wait();
                             }}};
  wasm::Linker linker_{wasm::test_engine()};
  ProgramStore programs_{modules_, linker_};
  TimerThread timers_;
  wasm::GuestThreads threads_;
  vfs::Frozen base_;
};

TEST_F(SystemProgramTest, WhatItIsGivenIsMemoryOfTheSandbox) {
  constexpr std::size_t words = 40'000;
  const std::unique_ptr<Kernel> kernel = kernel_with(ProgramOrigin::system);
  wasm::MemoryBudget& memory = *kernel->memory();
  SpawnRequest request = own();
  request.environment.assign(words, "A=1");
  auto spawned = std::async(std::launch::async, [&] { return kernel->spawn(request); });
  compiles_.wait();
  EXPECT_GE(memory.used_bytes(), words * sizeof(std::string));
  let_compile();
  {
    const Result<ProcessPtr> process = spawned.get();
    ASSERT_TRUE(process);
    EXPECT_TRUE(kernel->wait_for(*process, std::nullopt));
  }
  EXPECT_TRUE(testing::within_a_minute([&] { return memory.used_bytes() == 0; }));
  ASSERT_TRUE(memory.charge(memory.limit_bytes() - words));
  EXPECT_EQ(kernel->spawn(request).error(), Errno::nomem);
  memory.release(memory.limit_bytes() - words);
}

TEST_F(SystemProgramTest, ItsCompilerTakesNobodysTime) {
  const std::unique_ptr<Kernel> kernel = kernel_with(ProgramOrigin::system);
  const auto begin = std::chrono::steady_clock::now();
  const auto clock = std::make_shared<RunClock>(200ms, begin);
  auto spawned = std::async(std::launch::async, [&] { return kernel->spawn(own(clock)); });
  compiles_.wait();
  const auto has_begun_to_wait = [&] {
    const KernelLock lock(kernel->mutex());
    return clock->waits().total(std::chrono::steady_clock::now()) > 0s;
  };
  while (!has_begun_to_wait()) std::this_thread::sleep_for(1ms);
  const auto compiling = std::chrono::steady_clock::now();
  EXPECT_EQ(spawned.wait_for(300ms), std::future_status::timeout);
  const auto enough = std::chrono::steady_clock::now();
  let_compile();
  const Result<ProcessPtr> process = spawned.get();
  ASSERT_TRUE(process);
  const KernelLock lock(kernel->mutex());
  // More than its limit has passed, all of them while it was compiled.
  EXPECT_GE(clock->waits().total(enough), enough - compiling);
  EXPECT_FALSE(clock->is_over(begin + (enough - compiling)));
  EXPECT_EQ(kernel->system_waits().total(enough), clock->waits().total(enough));
}

TEST_F(SystemProgramTest, OneOfTheUsersIsCompiledInTheTimeOfTheRun) {
  const std::unique_ptr<Kernel> kernel = kernel_with(ProgramOrigin::user);
  const auto clock = std::make_shared<RunClock>(1ms);
  const Result<ProcessPtr> process = kernel->spawn(own(clock));
  ASSERT_FALSE(process);
  EXPECT_EQ(process.error(), Errno::timedout);
  EXPECT_FALSE(released_);
  const KernelLock lock(kernel->mutex());
  EXPECT_EQ(clock->waits().total(std::chrono::steady_clock::now()), 0s);
}

TEST_F(SystemProgramTest, WhoIsStoppedOrKilledDoesNotWaitForTheCompiler) {
  const std::unique_ptr<Kernel> kernel = kernel_with(ProgramOrigin::system);
  std::stop_source stop;
  auto stopped =
      std::async(std::launch::async, [&] { return kernel->spawn(own(nullptr, stop.get_token())); });
  compiles_.wait();
  stop.request_stop();
  EXPECT_EQ(stopped.get().error(), Errno::intr);
  auto killed = std::async(std::launch::async, [&] { return kernel->spawn(own()); });
  EXPECT_TRUE(testing::within_a_minute([&] {
    const KernelLock lock(kernel->mutex());
    return kernel->system_waits().under_way();
  }));
  kernel->kill_job(0);
  EXPECT_EQ(killed.get().error(), Errno::intr);
  EXPECT_FALSE(released_);
  // The compiler goes on, and who comes next has what it makes.
  let_compile();
  EXPECT_TRUE(kernel->spawn(own()));
  EXPECT_EQ(compilers_, 1);
}

TEST_F(SystemProgramTest, TheHostCanGiveUpToo) {
  const std::unique_ptr<Kernel> kernel = kernel_with(ProgramOrigin::system);
  const auto program = load_for_host(*kernel, 1, [] { return true; });
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error(), Errno::intr);
  EXPECT_FALSE(released_);
}

TEST_F(SystemProgramTest, AFailedCompilerTakesTheTimeOfTheRun) {
  const std::unique_ptr<Kernel> kernel = kernel_with(ProgramOrigin::system);
  std::ofstream(folder_.path() / "own.wasm", std::ios::binary | std::ios::trunc) << "no program";
  let_compile();
  const auto clock = std::make_shared<RunClock>(1h);
  const Result<ProcessPtr> process = kernel->spawn(own(clock));
  ASSERT_FALSE(process);
  EXPECT_EQ(process.error(), Errno::noexec);
  const KernelLock lock(kernel->mutex());
  EXPECT_EQ(clock->waits().total(std::chrono::steady_clock::now()), 0s);
}

}  // namespace
}  // namespace cloche::kernel
