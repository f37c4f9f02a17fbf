// SPDX-License-Identifier: Apache-2.0
#include "compiler/jail.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/call_filter.h"

namespace cloche::compiler {
namespace {

constexpr int low_priority = 5;
// It may wait for the CPU, but not for ever.
constexpr std::uint64_t real_time_factor = 10;
constexpr std::uint64_t code_part = 4;  // of the memory may be written as code

constexpr std::array allowed{
    SYS_read,
    SYS_pread64,
    SYS_write,
    SYS_lseek,
    SYS_fstat,
    SYS_close,
    SYS_mmap,
    SYS_munmap,
    SYS_mremap,
    SYS_mprotect,
    SYS_madvise,
    SYS_brk,
    SYS_futex,
    SYS_sched_yield,
    SYS_getrandom,
    SYS_clock_gettime,
    SYS_gettimeofday,
    SYS_getpid,
    SYS_gettid,
    SYS_tgkill,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_sigaltstack,
    SYS_sched_getaffinity,
    SYS_restart_syscall,
    SYS_exit,
    SYS_exit_group,
};

// What is not allowed is EPERM.
bool filter_calls() {
  CallFilter filter;
  for (const auto call : allowed) filter.allow(call);
  return filter.enter(CallFilter::refusal(EPERM));
}

bool limit(int resource, std::uint64_t value) {
  const rlimit both{value, value};
  return setrlimit(static_cast<__rlimit_resource>(resource), &both) == 0;
}

}  // namespace

bool enter_jail(const JailLimits& limits) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != limits.parent_pid) return false;
  (void)setpriority(PRIO_PROCESS, 0, low_priority);
  // RLIMIT_DATA counts what may be written and is not shared, so also what malloc maps.
  if (!limit(RLIMIT_CORE, 0) || !limit(RLIMIT_CPU, limits.cpu_seconds) ||
      !limit(RLIMIT_FSIZE, limits.memory_bytes / code_part) ||
      !limit(RLIMIT_DATA, limits.memory_bytes)) {
    return false;
  }
  alarm(static_cast<unsigned>(limits.cpu_seconds * real_time_factor));
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
    return false;
  (void)filter_calls();
  return true;
}

}  // namespace cloche::compiler
