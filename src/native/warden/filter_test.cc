// SPDX-License-Identifier: Apache-2.0
#include "native/warden/filter.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <algorithm>
#include <set>

#include "native/warden/filter_table.h"

namespace cloche::warden {
namespace {

TEST(Filter, SaysOfEachCallOneThing) {
  std::set<std::uint32_t> refused(std::begin(refused_calls), std::end(refused_calls));
  for (const std::uint32_t call : plain_calls) EXPECT_FALSE(refused.contains(call)) << call;
  for (const std::uint32_t call : pretended_calls) EXPECT_FALSE(refused.contains(call)) << call;
  for (const CallRule& call : special_calls) {
    EXPECT_FALSE(refused.contains(call.number)) << call.number;
    EXPECT_EQ(std::ranges::count(plain_calls, call.number), 0) << call.number;
  }
}

TEST(Filter, LetsNoneThroughThatMakesOrMovesAWall) {
  for (const long call : {SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_setns, SYS_bpf,
                          SYS_keyctl, SYS_perf_event_open, SYS_userfaultfd, SYS_kexec_load,
                          SYS_init_module, SYS_open_by_handle_at})
    EXPECT_EQ(rule_of(static_cast<std::uint32_t>(call)), Rule::refuse) << call;
  for (const std::uint32_t io_uring : {425U, 426U, 427U})
    EXPECT_EQ(rule_of(io_uring), Rule::refuse);
  EXPECT_EQ(rule_of(435), Rule::absent);  // clone3
  EXPECT_EQ(rule_of(SYS_clone), Rule::clone);
  EXPECT_EQ(rule_of(SYS_unshare), Rule::clone);
  EXPECT_EQ(rule_of(SYS_ptrace), Rule::trace);
  EXPECT_EQ(rule_of(SYS_mmap), Rule::map);
  EXPECT_EQ(rule_of(SYS_shmget), Rule::segment);
  EXPECT_EQ(rule_of(SYS_sync), Rule::pretend);
  EXPECT_EQ(rule_of(SYS_fadvise64), Rule::advice);
  EXPECT_EQ(rule_of(SYS_setsockopt), Rule::option);
  EXPECT_EQ(rule_of(SYS_seccomp), Rule::seccomp);
  EXPECT_EQ(rule_of(SYS_prctl), Rule::control);
  EXPECT_EQ(rule_of(500), Rule::absent);  // of a kernel to come
}

TEST(Filter, FitsIntoTheKernelsBound) {
  constexpr std::size_t most = 4096;
  const Filter filter;
  EXPECT_GT(filter.program().size(), 10U);
  EXPECT_LT(filter.program().size(), most);
}

}  // namespace
}  // namespace cloche::warden
