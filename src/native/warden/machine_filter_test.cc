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

TEST(MachineFilter, HoldsWhatConcernsTheMachineAndNothingElse) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (!leave_the_machine_alone()) ::_exit(100);
    const pid_t grandchild = ::fork();
    if (grandchild == 0) ::_exit(first_call_that_is_there());
    int status = 0;
    if (grandchild < 0 || ::waitpid(grandchild, &status, 0) != grandchild) ::_exit(101);
    ::_exit(status != 0 ? WEXITSTATUS(status) : first_call_that_is_there());
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 100) GTEST_SKIP() << "this kernel takes no filter";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace cloche::warden
