// SPDX-License-Identifier: Apache-2.0
#include "kernel/host/host_process.h"

#include <gtest/gtest.h>

#include <array>
#include <future>
#include <thread>

#include "kernel/files/pipe.h"
#include "kernel/host/host_ports.h"
#include "kernel/kernel.h"
#include "kernel/kernel_testing.h"
#include "kernel/process/task.h"

namespace cloche::kernel {
namespace {

using Body = std::function<int(HostProcess& process)>;

// A kernel whose one program is the body.
class Machine {
 public:
  explicit Machine(Body body) : kernel_(options_with(std::move(body))) {
    kernel_.add_program("/bin/program", R"((module (memory 1) (func (export "_start"))))");
  }

  Kernel& kernel() { return kernel_.kernel(); }
  ProcessPtr spawn(const std::map<std::int32_t, FilePtr>& files = {},
                   std::vector<std::string> argv = {"program"}) {
    return kernel_.spawn({.path = "/bin/program",
                          .program = std::make_shared<const Program>(host_program()),
                          .argv = std::move(argv),
                          .environment = {"A=1"},
                          .cwd = "/tmp",
                          .files = files});
  }
  WaitStatus wait(const ProcessPtr& process) { return kernel_.wait(process); }

 private:
  static KernelOptions options_with(Body body) {
    KernelOptions options;
    options.host_program = std::move(body);
    return options;
  }
  TestKernel kernel_;
};

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Result<std::size_t> put(HostProcess& process, std::int32_t fd, std::string_view text) {
  return process.write(fd, std::as_bytes(std::span(text)));
}

TEST(HostProcess, HasWhatAProcessHas) {
  Machine machine([](HostProcess& process) {
    EXPECT_EQ(process.argv(), (std::vector<std::string>{"program", "one", "two"}));
    EXPECT_EQ(process.environment(), std::vector<std::string>{"A=1"});
    EXPECT_EQ(process.directory(), "/tmp");
    std::array<std::byte, 3> piece{};
    const Result<std::size_t> got = process.read(0, piece);
    EXPECT_TRUE(got && text_of(piece) == "inp");
    EXPECT_TRUE(put(process, 1, "output"));
    EXPECT_EQ(put(process, 2, "x").error(), Errno::badf);
    return 0x107;
  });
  HostCapture out(machine.kernel());
  const auto input = std::make_shared<BytesFile>(machine.kernel(), "input");
  const ProcessPtr process =
      machine.spawn({{0, input}, {1, out.guest_end()}}, {"program", "one", "two"});
  EXPECT_EQ(machine.wait(process).exit_code(), 7);
  EXPECT_EQ(out.take().bytes, "output");
}

TEST(HostProcess, WaitsForWhatItAsksForOrIsWoken) {
  std::promise<HostProcess*> waits;
  std::promise<void> woken;
  Machine machine([&](HostProcess& process) {
    // What is not open can be asked at once.
    Result<HostProcess::Ready> ready = process.wait({.errors = true});
    EXPECT_TRUE(ready && ready->errors && !ready->input && !ready->output);
    waits.set_value(&process);
    ready = process.wait({.input = true});
    EXPECT_TRUE(ready && !ready->input);
    woken.set_value();
    do {
      ready = process.wait({.input = true, .output = true});
    } while (ready && !ready->input);
    EXPECT_TRUE(ready && ready->output);
    return 0;
  });
  HostPipe input(machine.kernel(), HostPipe::Flow::to_guest);
  HostCapture out(machine.kernel());
  const ProcessPtr process = machine.spawn({{0, input.guest_end()}, {1, out.guest_end()}});
  waits.get_future().get()->wake();
  woken.get_future().get();
  constexpr std::string_view word = "x";
  EXPECT_TRUE(input.write(std::as_bytes(std::span(word))));
  EXPECT_EQ(machine.wait(process).exit_code(), 0);
}

TEST(HostProcess, IsKilledWhereItWaits) {
  std::promise<void> begun;
  Result<HostProcess::Ready> seen = HostProcess::Ready{};
  Machine machine([&](HostProcess& process) {
    begun.set_value();
    seen = process.wait({});
    EXPECT_EQ(put(process, 1, "x").error(), Errno::canceled);
    return 0;
  });
  const ProcessPtr process = machine.spawn();
  begun.get_future().get();
  machine.kernel().kill_job(process->job);
  EXPECT_EQ(machine.wait(process).term_signal(), sigkill);
  EXPECT_EQ(seen.error(), Errno::canceled);
}

TEST(HostProcess, IsKilledWhereItNeverWaits) {
  std::promise<void> begun;
  Machine machine([&](HostProcess& process) {
    begun.set_value();
    while (process.wait({.input = true})) {
    }
    return 0;
  });
  const ProcessPtr process = machine.spawn();  // its input is not open, and so ready
  begun.get_future().get();
  machine.kernel().kill_job(process->job);
  EXPECT_EQ(machine.wait(process).term_signal(), sigkill);
}

TEST(HostProcess, EndsWhereNobodyReads) {
  Machine machine([](HostProcess& process) {
    EXPECT_EQ(put(process, 1, "x").error(), Errno::canceled);
    return 0;
  });
  FilePtr writing;
  {
    const KernelLock lock(machine.kernel().mutex());
    writing = make_pipe(machine.kernel()).second;
  }
  const ProcessPtr process = machine.spawn({{1, writing}});
  EXPECT_EQ(machine.wait(process).term_signal(), sigpipe);
  const KernelLock lock(machine.kernel().mutex());
  writing.reset();
}

TEST(HostProcess, IsStoppedAndGoesOn) {
  std::promise<void> begun;
  Machine machine([&](HostProcess& process) {
    begun.set_value();
    std::array<std::byte, 1> piece{};
    const Result<std::size_t> got = process.read(0, piece);
    return got && *got == 1 ? 0 : 1;
  });
  HostPipe input(machine.kernel(), HostPipe::Flow::to_guest);
  const ProcessPtr process = machine.spawn({{0, input.guest_end()}});
  begun.get_future().get();
  const auto stands_still = [&] {
    const KernelLock lock(machine.kernel().mutex());
    return process->task != nullptr && process->task->stands_still();
  };
  machine.kernel().stop_all();
  while (!stands_still()) std::this_thread::yield();
  constexpr std::string_view word = "x";
  EXPECT_TRUE(input.write(std::as_bytes(std::span(word))));
  EXPECT_TRUE(stands_still());
  machine.kernel().continue_all();
  EXPECT_EQ(machine.wait(process).exit_code(), 0);
}

TEST(HostProcess, WithoutAHostItCannotBeExecuted) {
  Machine machine({});
  EXPECT_EQ(machine.wait(machine.spawn()).exit_code(), 126);
}

}  // namespace
}  // namespace cloche::kernel
