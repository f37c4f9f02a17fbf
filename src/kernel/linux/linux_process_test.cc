// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "kernel/kernel.h"
#include "kernel/linux/linux_puppet_testing.h"
#include "kernel/process/task.h"

namespace cloche::kernel::lnx {
namespace {

constexpr std::uint32_t nr_exit_group = 94, nr_kill = 129, nr_mmap2 = 222, nr_wait4 = 260,
                        nr_vfork_begin = 0x1004;
constexpr std::uint32_t prot_rw = 3, map_shared = 1;

// Its last reference may go where nobody has the kernel's lock.
TEST(linux_process, a_process_that_has_ended_has_nothing_of_files) {
  TestKernel machine;
  const ProcessPtr process = start_guest(machine, [](Guest& guest) {
    const std::int32_t fd = guest.open("f", o_creat | o_rdwr);
    EXPECT_GT(guest.call(nr_mmap2, 0, 4096, prot_rw, map_shared, fd, 0), 0);
  });
  EXPECT_EQ(machine.wait(process).raw(), 0);
  const KernelLock lock(machine.kernel().mutex());
  EXPECT_TRUE(process->memory.regions().empty());
}

// The number of one that lives is given to nobody else, however often they have been around.
TEST(linux_process, numbers_of_processes) {
  KernelOptions options;
  options.pid_max = 20;
  TestKernel machine(std::move(options));
  run_guest(machine, [&](Guest& guest) {
    const std::int32_t own = guest.call(nr::getpid);
    for (int times = 0; times < 50; ++times) {
      const ProcessPtr other =
          start_guest(machine, [&](Guest& second) { EXPECT_NE(second.call(nr::getpid), own); });
      EXPECT_EQ(machine.wait(other).raw(), 0);
      ASSERT_EQ(guest.call(nr_vfork_begin), 0);
      const std::int32_t child = guest.call(nr_exit_group, 0);
      ASSERT_GT(child, 0);
      EXPECT_EQ(guest.call(nr_wait4, child, 0, 0, 0), child);
    }
  });
}

// Also one that has others go on, and one between vfork and exec, which no signal stops.
TEST(linux_process, all_stand_still_while_the_kernel_is_frozen) {
  TestKernel machine;
  std::atomic<std::uint64_t> steps_of_sender = 0, steps_of_vfork = 0;
  const auto all_go_on = [&] {
    const std::uint64_t sender = steps_of_sender, vfork = steps_of_vfork;
    while (steps_of_sender == sender || steps_of_vfork == vfork) std::this_thread::yield();
  };
  const ProcessPtr sender = start_guest(machine, [&](Guest& guest) {
    while (guest.call(nr_kill, -1, sigcont) != Guest::unwound) ++steps_of_sender;
  });
  const ProcessPtr vfork = start_guest(machine, [&](Guest& guest) {
    EXPECT_EQ(guest.call(nr_vfork_begin), 0);
    while (guest.call(nr::getpid) != Guest::unwound) ++steps_of_vfork;
  });
  const auto stand_still = [&] {
    const KernelLock lock(machine.kernel().mutex());
    return sender->task->stands_still() && vfork->task->stands_still();
  };
  for (int times = 0; times < 3; ++times) {
    all_go_on();
    machine.kernel().stop_all();
    while (!stand_still()) std::this_thread::yield();
    const std::uint64_t steps = steps_of_sender + steps_of_vfork;
    for (const ProcessPtr& process : {sender, vfork})
      machine.kernel().signal_job(process->job, sigcont);
    EXPECT_TRUE(stand_still());
    EXPECT_EQ(steps_of_sender + steps_of_vfork, steps);
    machine.kernel().continue_all();
  }
  all_go_on();
  machine.kernel().stop_all();
  for (const ProcessPtr& process : {sender, vfork}) {
    machine.kernel().signal_job(process->job, sigkill);
    EXPECT_EQ(machine.wait(process).raw(), WaitStatus::signaled(sigkill).raw());
  }
}

}  // namespace
}  // namespace cloche::kernel::lnx
