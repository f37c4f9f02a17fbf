// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "kernel/kernel.h"
#include "kernel/linux/linux_puppet_testing.h"

namespace cloche::kernel::lnx {
namespace {

constexpr std::uint32_t nr_exit_group = 94, nr_mmap2 = 222, nr_wait4 = 260, nr_vfork_begin = 0x1004;
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

}  // namespace
}  // namespace cloche::kernel::lnx
