// SPDX-License-Identifier: Apache-2.0
#include "native/warden/wall.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "native/warden/fd.h"
#include "native/warden/set_id_filter.h"

namespace cloche::warden {
namespace {

constexpr std::uint32_t kept_by_root = (1U << CAP_CHOWN) | (1U << CAP_DAC_OVERRIDE) |
                                       (1U << CAP_FOWNER) | (1U << CAP_FSETID) |
                                       (1U << CAP_SETUID) | (1U << CAP_SETGID) | (1U << CAP_KILL);
constexpr rlim_t locked_bytes = 8 << 20;
constexpr rlim_t queue_bytes = 800 << 10;  // of POSIX message queues
constexpr rlim_t queued_signals = 4096;

// As of ABI 6; the header of an older kernel lacks some of it.
struct LandlockRules {
  std::uint64_t files = 0;
  std::uint64_t network = 0;
  std::uint64_t scoped = 3;  // abstract sockets, signals
};

// Not above what this process may have itself.
int limit(__rlimit_resource what, rlim_t most) noexcept {
  rlimit now{};
  if (::getrlimit(what, &now) != 0) return -1;
  const rlim_t value = std::min(most, now.rlim_max);
  const rlimit both{value, value};
  return ::setrlimit(what, &both);
}

Outcome drop_privileges() noexcept {
  const std::uint32_t kept = ::geteuid() == 0 ? kept_by_root : 0;
  for (unsigned capability = 0; ::prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; ++capability) {
    if (capability < 32 && ((kept >> capability) & 1) != 0) continue;
    CLOCHE_STEP(Step::privileges, ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0));
  }
  __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> sets{};
  sets[0].effective = sets[0].permitted = kept;
  return outcome_of(Step::privileges, ::syscall(SYS_capset, &head, sets.data()));
}

}  // namespace

bool enter_landlock() noexcept {
  constexpr long create_ruleset = 444, restrict_self = 446;
  const LandlockRules rules;
  const Fd ruleset(static_cast<int>(::syscall(create_ruleset, &rules, sizeof rules, 0)));
  return ruleset && ::syscall(restrict_self, ruleset.get(), 0) == 0;
}

Outcome enter_wall(const WallPlan& plan, const Filter& filter) noexcept {
  CLOCHE_STEP(Step::limits, limit(RLIMIT_CORE, no_core));
  CLOCHE_STEP(Step::limits, limit(RLIMIT_NPROC, plan.processes));
  CLOCHE_STEP(Step::limits, limit(RLIMIT_NOFILE, plan.open_files));
  CLOCHE_STEP(Step::limits, limit(RLIMIT_MEMLOCK, locked_bytes));
  if (plan.isolation == Isolation::full) {  // gVisor has no such queues, and no such limits
    CLOCHE_STEP(Step::limits, limit(RLIMIT_MSGQUEUE, queue_bytes));
    CLOCHE_STEP(Step::limits, limit(RLIMIT_SIGPENDING, queued_signals));
    // Before all others on a processor: some machines allow their users that.
    CLOCHE_STEP(Step::limits, limit(RLIMIT_RTPRIO, 0));
    CLOCHE_STEP(Step::limits, limit(RLIMIT_NICE, 0));
  }
  CLOCHE_STEP(Step::privileges, ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
  if (auto dropped = drop_privileges(); !dropped) return dropped;
  if (!plan.keeps_set_id) CLOCHE_STEP(Step::filter, refuse_set_id() ? 0 : -1);
  return outcome_of(Step::filter, filter.load() ? 0 : -1);
}

}  // namespace cloche::warden
