// SPDX-License-Identifier: Apache-2.0
#include "native/warden/filter.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <future>
#include <set>
#include <thread>

#include "native/warden/fd.h"
#include "native/warden/filter_table.h"
#include "native/warden/load_filter.h"

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
  EXPECT_EQ(rule_of(SYS_madvise), Rule::memory_advice);
  for (const std::uint32_t landlock : {444U, 445U, 446U})
    EXPECT_EQ(rule_of(landlock), Rule::absent);
  EXPECT_EQ(rule_of(500), Rule::absent);  // of a kernel to come
}

TEST(Filter, FitsIntoTheKernelsBound) {
  constexpr std::size_t most = 4096;
  const Filter filter;
  EXPECT_GT(filter.program().size(), 10U);
  EXPECT_LT(filter.program().size(), most);
}

// What `seccomp` says to the calling thread is asked for; a descriptor.
int ask_about_seccomp() {
  std::array<sock_filter, 4> code{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_seccomp, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog program{code.size(), code.data()};
  return load_filter(program, SECCOMP_FILTER_FLAG_NEW_LISTENER);
}

TEST(Filter, IsLoadedOnceTheKernelHasTheMemoryForIt) {
  constexpr int not_supported = 524;
  std::promise<int> asked;
  std::promise<bool> loaded;
  std::jthread guest([&] {
    (void)::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    asked.set_value(ask_about_seccomp());
    loaded.set_value(Filter().load());
  });
  const Fd listener(asked.get_future().get());
  ASSERT_TRUE(listener);
  for (const int error : {not_supported, ENOMEM, not_supported, 0}) {
    pollfd ready{listener.get(), POLLIN, 0};  // POLLHUP: it has given up
    ASSERT_EQ(::poll(&ready, 1, -1), 1);
    ASSERT_EQ(ready.revents, POLLIN);
    seccomp_notif call{};
    ASSERT_EQ(::ioctl(listener.get(), SECCOMP_IOCTL_NOTIF_RECV, &call), 0) << errno;
    seccomp_notif_resp said{.id = call.id, .val = 0, .error = -error, .flags = 0};
    if (error == 0) said.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    ASSERT_EQ(::ioctl(listener.get(), SECCOMP_IOCTL_NOTIF_SEND, &said), 0) << errno;
  }
  EXPECT_TRUE(loaded.get_future().get());
}

}  // namespace
}  // namespace cloche::warden
