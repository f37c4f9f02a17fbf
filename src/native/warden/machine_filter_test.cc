// SPDX-License-Identifier: Apache-2.0
#include "native/warden/machine_filter.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace cloche::warden {
namespace {

// The number of the first call that is not refused, as root's would not be; 0: none.
int first_call_that_is_there() {
  constexpr std::array<long, 8> calls{
      SYS_bpf,     SYS_keyctl,      SYS_perf_event_open,   SYS_settimeofday,
      SYS_swapoff, SYS_init_module, SYS_open_by_handle_at, SYS_io_uring_setup};
  int place = 1;
  for (const long call : calls) {
    if (::syscall(call, 0, 0, 0, 0, 0) != -1 || errno != EPERM) return place;
    ++place;
  }
  return 0;
}

constexpr int no_filter = 100;

// How a process ends that has the filter, in which `body` says its exit status.
template <typename Body>
int end_behind_the_filter(Body body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(leave_the_machine_alone() ? body() : no_filter);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

TEST(MachineFilter, HoldsWhatConcernsTheMachineAndNothingElse) {
  const int status = end_behind_the_filter([] {
    const pid_t grandchild = ::fork();
    if (grandchild == 0) ::_exit(first_call_that_is_there());
    int end = 0;
    if (grandchild < 0 || ::waitpid(grandchild, &end, 0) != grandchild) return 101;
    return end != 0 ? WEXITSTATUS(end) : first_call_that_is_there();
  });
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == no_filter) GTEST_SKIP() << "this kernel takes no filter";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

#if defined(__x86_64__)
// Those calls have other numbers there. A kernel without that architecture ends who asks.
TEST(MachineFilter, LeavesNoCallOfAnotherArchitecture) {
  const int status = end_behind_the_filter([] {
    constexpr long getpid_of_x86 = 20, x32 = 0x40000000;
    if (::syscall(x32 | SYS_getpid) != -1 || errno != ENOSYS) return 1;
    long result = getpid_of_x86;
    __asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
    return result == -ENOSYS ? 0 : 2;
  });
  if (WIFSIGNALED(status)) return;
  if (WEXITSTATUS(status) == no_filter) GTEST_SKIP() << "this kernel takes no filter";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(MachineFilter, LeavesNoPortsOfDevices) {
  const int status = end_behind_the_filter([] {
    const bool is_refused = ::syscall(SYS_iopl, 0) == -1 && errno == EPERM;
    return is_refused && ::syscall(SYS_ioperm, 0, 0, 0) == -1 && errno == EPERM ? 0 : 1;
  });
  if (WEXITSTATUS(status) == no_filter) GTEST_SKIP() << "this kernel takes no filter";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}
#endif

}  // namespace
}  // namespace cloche::warden
