// SPDX-License-Identifier: Apache-2.0
// The start block, the end, signals, clocks, random bytes.
#include <gtest/gtest.h>

#include <algorithm>

#include "kernel/files/pipe.h"
#include "kernel/kernel.h"
#include "kernel/wasi/puppet_testing.h"

namespace cloche::kernel::wasi {
namespace {

std::vector<std::string> strings(Puppet& guest, const std::string& family) {
  const std::uint32_t count_out = guest.reserve(4);
  const std::uint32_t bytes_out = guest.reserve(4);
  EXPECT_EQ(guest.call(family + "_sizes_get", count_out, bytes_out), ok);
  const auto count = guest.get<std::uint32_t>(count_out);
  const auto bytes = guest.get<std::uint32_t>(bytes_out);
  const std::uint32_t pointers = guest.reserve(count * 4);
  const std::uint32_t block = guest.reserve(bytes);
  EXPECT_EQ(guest.call(family + "_get", pointers, block), ok);
  std::vector<std::string> result;
  for (std::uint32_t i = 0; i < count; ++i) {
    result.emplace_back(
        guest.memory().read_string(guest.get<std::uint32_t>(pointers + i * 4), 100).value());
  }
  return result;
}

TEST(WasiProcess, ArgumentsAndEnvironment) {
  TestKernel machine;
  SpawnRequest request;
  request.argv = {"name", "", "two words"};
  request.environment = {"A=1", "EMPTY="};
  run_puppet(machine, request, [&](Puppet& guest) {
    EXPECT_EQ(strings(guest, "args"), request.argv);
    EXPECT_EQ(strings(guest, "environ"), request.environment);
  });
}

TEST(WasiProcess, EmptyEnvironment) {
  TestKernel machine;
  run_puppet(machine, {}, [](Puppet& guest) {
    EXPECT_TRUE(strings(guest, "environ").empty());
    EXPECT_EQ(guest.call("environ_get", 0xffffffff, 0xffffffff), ok);
  });
}

TEST(WasiProcess, ExitCodes) {
  TestKernel machine;
  for (const std::uint32_t code : {0u, 1u, 42u, 255u, 256u, 0xffffffffu}) {
    const WaitStatus status = run_puppet(
        machine, {}, [&](Puppet& guest) { EXPECT_EQ(guest.call("proc_exit", code), unwound); });
    EXPECT_TRUE(status.is_exited());
    EXPECT_EQ(status.exit_code(), static_cast<int>(code & 0xff));
  }
}

TEST(WasiProcess, RaisePostsARealSignal) {
  TestKernel machine;
  const WaitStatus killed = run_puppet(
      machine, {}, [](Puppet& guest) { EXPECT_EQ(guest.call("proc_raise", 15), unwound); });
  EXPECT_TRUE(killed.is_signaled());
  EXPECT_EQ(killed.term_signal(), sigterm);
  const WaitStatus sys = run_puppet(
      machine, {}, [](Puppet& guest) { EXPECT_EQ(guest.call("proc_raise", 30), unwound); });
  EXPECT_EQ(sys.term_signal(), sigsys);
  const WaitStatus lives = run_puppet(machine, {}, [](Puppet& guest) {
    EXPECT_EQ(guest.call("proc_raise", 0), ok);
    EXPECT_EQ(guest.call("proc_raise", 16), ok);  // SIGCHLD: ignored
    EXPECT_EQ(guest.call("proc_raise", 31), inval);
    EXPECT_EQ(guest.call("proc_raise", 0xffffffff), inval);
  });
  EXPECT_EQ(lives.raw(), 0);
}

TEST(WasiProcess, WritingToNobodyIsSigpipe) {
  TestKernel machine;
  auto [reader, writer] = make_pipe(machine.kernel());
  SpawnRequest request;
  request.files = {{1, std::move(writer)}};
  {
    const KernelLock lock(machine.kernel().mutex());
    reader.reset();
  }
  const WaitStatus status =
      run_puppet(machine, request, [](Puppet& guest) { EXPECT_EQ(guest.write(1, "x"), -unwound); });
  EXPECT_EQ(status.shell_status(), 141);
}

TEST(WasiProcess, ABlockedGuestCanBeKilled) {
  TestKernel machine;
  const auto [reader, writer] = make_pipe(machine.kernel());
  SpawnRequest request;
  request.files = {{0, reader}, {1, writer}};
  const ProcessPtr process = start_puppet(
      machine, request, [](Puppet& guest) { EXPECT_EQ(guest.read(0, 4), "errno -1"); });
  ASSERT_TRUE(process);
  machine.kernel().kill_job(process->job);
  EXPECT_EQ(machine.wait(process).term_signal(), sigkill);
}

TEST(WasiProcess, Clocks) {
  TestKernel machine;
  run_puppet(machine, {}, [](Puppet& guest) {
    const std::uint32_t out = guest.reserve(8);
    const auto now = [&](std::uint32_t clock) {
      EXPECT_EQ(guest.call("clock_time_get", clock, std::uint64_t{1}, out), ok);
      return guest.get<std::uint64_t>(out);
    };
    EXPECT_GT(now(clock_realtime), 1'700'000'000'000'000'000u);
    const std::uint64_t first = now(clock_monotonic);
    EXPECT_LE(first, now(clock_monotonic));
    const std::uint64_t spent = now(clock_process_cputime);
    EXPECT_LT(spent, 10'000'000'000u);
    EXPECT_LE(spent, now(clock_thread_cputime));
    for (std::uint32_t clock = 0; clock < 4; ++clock) {
      EXPECT_EQ(guest.call("clock_res_get", clock, out), ok);
      EXPECT_EQ(guest.get<std::uint64_t>(out), 1u);
    }
    EXPECT_EQ(guest.call("clock_time_get", 4, std::uint64_t{0}, out), inval);
    EXPECT_EQ(guest.call("clock_res_get", 0xffffffff, out), inval);
    EXPECT_EQ(guest.call("sched_yield"), ok);
  });
}

TEST(WasiProcess, RandomBytesFillExactlyWhatIsAsked) {
  TestKernel machine;
  run_puppet(machine, {}, [](Puppet& guest) {
    const std::uint32_t buffer = guest.reserve(70'000);
    EXPECT_EQ(guest.call("random_get", buffer, 69'000), ok);
    const std::string bytes = guest.text(buffer, 70'000);
    EXPECT_EQ(std::count(bytes.begin() + 69'000, bytes.end(), '\0'), 1000);
    EXPECT_LT(std::count(bytes.begin(), bytes.begin() + 69'000, '\0'), 600);
    EXPECT_GT(std::count(bytes.begin(), bytes.begin() + 69'000, '\0'), 100);
    EXPECT_EQ(guest.call("random_get", buffer, 0), ok);
    EXPECT_EQ(guest.call("random_get", 0, Puppet::memory_bytes + 1), fault);
  });
}

TEST(WasiProcess, TraceShowsTheCalls) {
  std::string lines;
  KernelOptions options;
  options.trace_syscalls = true;
  options.trace_sink = [&](std::string_view line) { lines += std::string(line) + "\n"; };
  TestKernel machine(std::move(options));
  run_puppet(machine, {}, [](Puppet& guest) { EXPECT_EQ(guest.call("fd_close", 42), badf); });
  EXPECT_NE(lines.find("fd_close(42) = 8 (EBADF)"), std::string::npos) << lines;
}

}  // namespace
}  // namespace cloche::kernel::wasi
