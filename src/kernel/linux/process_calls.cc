// SPDX-License-Identifier: Apache-2.0
// Processes: their ends, ids, groups and sessions.
#include <algorithm>
#include <array>

#include "kernel/kernel.h"
#include "kernel/linux/call.h"
#include "kernel/linux/usage.h"

namespace cloche::kernel::lnx {
namespace {

constexpr std::uint32_t wnohang = 1, wuntraced = 2, wexited = 4, wcontinued = 8,
                        wnowait = 0x1000000;
constexpr std::uint32_t wait_extra =
    0x20000000 | 0x40000000 | 0x80000000;  // __WNOTHREAD, __WALL, __WCLONE

SysResult exit_group(Call& call) REQUIRES(kernel_lock) {
  const auto vfork_child = call.task.exit(WaitStatus::exited(call.i32(0)));
  return vfork_child.value_or(0);
}

struct Waited {
  ProcessPtr child;
  WaitStatus status = WaitStatus::exited(0);
  Usage usage;
};

// Which children a wait is for.
struct WaitTarget {
  enum class Kind { any, pid, group } kind;
  Pid id = 0;

  bool matches(const Process& process) const REQUIRES(kernel_lock) {
    return kind == Kind::any || (kind == Kind::pid ? process.pid() == id : process.pgid == id);
  }
};

// What a child has to tell now. It is taken, unless `options` say WNOWAIT.
std::optional<Waited> take_report(Call& call, const WaitTarget& target, std::uint32_t options,
                                  bool& any_child) REQUIRES(kernel_lock) {
  for (const auto& [pid, child] : call.kernel.processes()) {
    if (child->ppid != call.process.pid() || !target.matches(*child)) continue;
    any_child = true;
    if (child->state == ProcessState::zombie) {
      if ((options & wexited) == 0) continue;
      const Waited waited{child, *child->status, child->usage};
      if ((options & wnowait) == 0) call.kernel.reap(*child);
      return waited;
    }
    if (!child->pending_report) continue;
    const bool is_continue = child->pending_report->raw() == WaitStatus::continued().raw();
    if ((options & (is_continue ? wcontinued : wuntraced)) == 0) continue;
    const Waited waited{child, *child->pending_report, child->usage};
    if ((options & wnowait) == 0) child->pending_report.reset();
    return waited;
  }
  return std::nullopt;
}

// The next report, or nothing with WNOHANG.
Result<std::optional<Waited>> wait(Call& call, const WaitTarget& target, std::uint32_t options)
    REQUIRES(kernel_lock) {
  for (;;) {
    bool any_child = false;
    if (auto waited = take_report(call, target, options, any_child)) return waited;
    if (!any_child) return Errno::child;
    if ((options & wnohang) != 0) return std::optional<Waited>();
    CLOCHE_TRY(call.task.block({&call.process.child_changed}));
  }
}

SysResult wait4(Call& call) REQUIRES(kernel_lock) {
  const std::int32_t pid = call.i32(0);
  const std::uint32_t options = call.u32(2);
  if ((options & ~(wnohang | wuntraced | wcontinued | wait_extra)) != 0) return Errno::inval;
  if (pid == INT32_MIN) return Errno::srch;  // no group has that number
  const WaitTarget target = pid > 0     ? WaitTarget{WaitTarget::Kind::pid, pid}
                            : pid == -1 ? WaitTarget{WaitTarget::Kind::any}
                            : pid == 0  ? WaitTarget{WaitTarget::Kind::group, call.process.pgid}
                                        : WaitTarget{WaitTarget::Kind::group, -pid};
  if ((call.u32(1) != 0 && !call.memory.holds(call.u32(1), 4)) ||
      (call.u32(3) != 0 && !call.memory.holds(call.u32(3), sizeof(GuestUsage)))) {
    return Errno::fault;
  }
  CLOCHE_ASSIGN(const std::optional<Waited> waited, wait(call, target, options | wexited));
  if (!waited) return 0;
  if (call.u32(1) != 0)
    CLOCHE_TRY(call.memory.write<std::int32_t>(call.u32(1), waited->status.raw()));
  if (call.u32(3) != 0) CLOCHE_TRY(call.memory.write(call.u32(3), guest_usage(waited->usage)));
  return waited->child->pid();
}

// siginfo_t of 32-bit Linux, as waitid fills it.
struct WaitInfo {
  std::int32_t signo, error, code, pid;
  std::uint32_t uid;
  std::int32_t status;
  std::array<std::uint32_t, 26> rest;
};
static_assert(sizeof(WaitInfo) == 128);

WaitInfo wait_info(const Waited& waited) REQUIRES(kernel_lock) {
  WaitInfo info{};
  info.signo = sigchld;
  info.pid = waited.child->pid();
  info.uid = waited.child->credentials.uid;
  const WaitStatus status = waited.status;
  if (status.raw() == WaitStatus::continued().raw()) {
    info.code = cld_continued;
    info.status = sigcont;
  } else if (status.is_exited()) {
    info.code = cld_exited;
    info.status = status.exit_code();
  } else if (status.is_signaled()) {
    info.code = cld_killed;
    info.status = status.term_signal();
  } else {
    info.code = cld_stopped;
    info.status = status.exit_code();
  }
  return info;
}

SysResult waitid(Call& call) REQUIRES(kernel_lock) {
  constexpr std::uint32_t p_all = 0, p_pid = 1, p_pgid = 2;
  const std::uint32_t options = call.u32(3);
  if ((options & ~(wnohang | wuntraced | wexited | wcontinued | wnowait | wait_extra)) != 0 ||
      (options & (wexited | wuntraced | wcontinued)) == 0) {
    return Errno::inval;
  }
  WaitTarget target{WaitTarget::Kind::any};
  switch (call.u32(0)) {
    case p_all: break;
    case p_pid:
      if (call.i32(1) <= 0) return Errno::inval;
      target = {WaitTarget::Kind::pid, call.i32(1)};
      break;
    case p_pgid:
      if (call.i32(1) < 0) return Errno::inval;
      target = {WaitTarget::Kind::group, call.i32(1) == 0 ? call.process.pgid : call.i32(1)};
      break;
    default: return Errno::inval;
  }
  const std::uint32_t info_at = call.u32(2);
  const std::uint32_t usage_at = call.u32(4);
  if ((info_at != 0 && !call.memory.holds(info_at, sizeof(WaitInfo))) ||
      (usage_at != 0 && !call.memory.holds(usage_at, sizeof(GuestUsage)))) {
    return Errno::fault;
  }
  CLOCHE_ASSIGN(const std::optional<Waited> waited, wait(call, target, options));
  if (info_at != 0)
    CLOCHE_TRY(call.memory.write(info_at, waited ? wait_info(*waited) : WaitInfo{}));
  if (usage_at != 0 && waited) CLOCHE_TRY(call.memory.write(usage_at, guest_usage(waited->usage)));
  return 0;
}

SysResult getrusage(Call& call) REQUIRES(kernel_lock) {
  constexpr std::int32_t self = 0, children = -1, thread = 1;
  Usage usage;
  switch (call.i32(0)) {
    case self:
    case thread:
      usage = call.process.usage;
      usage.cpu = call.task.cpu_time();
      break;
    case children: usage = call.process.children_usage; break;
    default: return Errno::inval;
  }
  CLOCHE_TRY(call.memory.write(call.u32(1), guest_usage(usage)));
  return 0;
}

SysResult getpid(Call& call) { return call.process.pid(); }
SysResult getppid(Call& call) REQUIRES(kernel_lock) { return call.process.ppid; }
SysResult getuid(Call& call) REQUIRES(kernel_lock) { return call.process.credentials.uid; }
SysResult getgid(Call& call) REQUIRES(kernel_lock) { return call.process.credentials.gid; }

// One identity only: setting it to what it is succeeds, anything else is not permitted. -1 leaves
// it.
template <bool is_user, std::size_t arguments>
SysResult set_ids(Call& call) {
  const std::uint32_t id = is_user ? call.process.credentials.uid : call.process.credentials.gid;
  for (std::size_t i = 0; i < arguments; ++i) {
    const bool leave = arguments > 1 && call.i32(i) == -1;
    if (!leave && call.u32(i) != id) return Errno::perm;
  }
  return 0;
}

template <bool is_user>
SysResult get_three_ids(Call& call) {
  const std::uint32_t id = is_user ? call.process.credentials.uid : call.process.credentials.gid;
  for (std::size_t i = 0; i < 3; ++i) {
    if (!call.memory.holds(call.u32(i), 4)) return Errno::fault;
  }
  for (std::size_t i = 0; i < 3; ++i) CLOCHE_TRY(call.memory.write(call.u32(i), id));
  return 0;
}

template <bool is_user>
SysResult set_fs_id(Call& call) {
  return is_user ? call.process.credentials.uid : call.process.credentials.gid;
}

SysResult getgroups(Call& call) REQUIRES(kernel_lock) {
  const std::vector<std::uint32_t>& groups = call.process.credentials.groups;
  if (call.i32(0) < 0) return Errno::inval;
  if (call.i32(0) == 0) return static_cast<std::int64_t>(groups.size());
  if (groups.size() > call.u32(0)) return Errno::inval;
  CLOCHE_TRY(call.memory.write_array<std::uint32_t>(call.u32(1), groups));
  return static_cast<std::int64_t>(groups.size());
}

SysResult setgroups(Call&) { return Errno::perm; }

Result<ProcessPtr> named_process(Call& call, std::int32_t pid) REQUIRES(kernel_lock) {
  if (pid < 0) return Errno::inval;
  ProcessPtr process = pid == 0 ? call.process.shared_from_this() : call.kernel.find(pid);
  if (!process) return Errno::srch;
  return process;
}

SysResult setpgid(Call& call) REQUIRES(kernel_lock) {
  if (call.i32(1) < 0) return Errno::inval;
  CLOCHE_ASSIGN(const ProcessPtr target, named_process(call, call.i32(0)));
  const Pid pgid = call.i32(1) == 0 ? target->pid() : call.i32(1);
  const bool is_child = target->ppid == call.process.pid();
  if (target.get() != &call.process && !is_child) return Errno::srch;
  if (is_child && target->has_execed) return Errno::acces;
  if (target->session != call.process.session || target->session->id == target->pid())
    return Errno::perm;
  if (pgid != target->pid()) {
    const bool joinable =
        std::ranges::any_of(call.kernel.processes(), [&](const auto& entry) REQUIRES(kernel_lock) {
          return entry.second->pgid == pgid && entry.second->session == call.process.session;
        });
    if (!joinable) return Errno::perm;
  }
  target->pgid = pgid;
  return 0;
}

SysResult getpgid(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const ProcessPtr process, named_process(call, call.i32(0)));
  return process->pgid;
}

SysResult getsid(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const ProcessPtr process, named_process(call, call.i32(0)));
  return process->session->id;
}

SysResult setsid(Call& call) REQUIRES(kernel_lock) {
  if (call.kernel.group_exists(call.process.pid())) return Errno::perm;
  call.process.session = std::make_shared<TtySession>(call.process.pid());
  call.process.pgid = call.process.pid();
  return call.process.pid();
}

constexpr std::array process_entries{
    Entry{93, "exit", 1, exit_group},
    Entry{94, "exit_group", 1, exit_group},
    Entry{95, "waitid", 5, waitid},
    Entry{260, "wait4", 4, wait4},
    Entry{165, "getrusage", 2, getrusage},
    Entry{172, "getpid", 0, getpid},
    Entry{173, "getppid", 0, getppid},
    Entry{174, "getuid", 0, getuid},
    Entry{175, "geteuid", 0, getuid},
    Entry{176, "getgid", 0, getgid},
    Entry{177, "getegid", 0, getgid},
    Entry{178, "gettid", 0, getpid, Support::partial, "the process id: a process has one thread"},
    Entry{143, "setregid", 2, set_ids<false, 2>},
    Entry{144, "setgid", 1, set_ids<false, 1>},
    Entry{145, "setreuid", 2, set_ids<true, 2>},
    Entry{146, "setuid", 1, set_ids<true, 1>},
    Entry{147, "setresuid", 3, set_ids<true, 3>},
    Entry{148, "getresuid", 3, get_three_ids<true>},
    Entry{149, "setresgid", 3, set_ids<false, 3>},
    Entry{150, "getresgid", 3, get_three_ids<false>},
    Entry{151, "setfsuid", 1, set_fs_id<true>},
    Entry{152, "setfsgid", 1, set_fs_id<false>},
    Entry{154, "setpgid", 2, setpgid},
    Entry{155, "getpgid", 1, getpgid},
    Entry{156, "getsid", 1, getsid},
    Entry{157, "setsid", 0, setsid},
    Entry{158, "getgroups", 2, getgroups},
    Entry{159, "setgroups", 2, setgroups},
};

}  // namespace

std::span<const Entry> process_calls() { return process_entries; }

}  // namespace cloche::kernel::lnx
