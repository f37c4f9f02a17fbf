// SPDX-License-Identifier: Apache-2.0
// Process: the state of one process, as ps and /proc would tell it. Who executes it is the Task.
//
// All members are guarded by the kernel lock. A Process lives as long as somebody holds it; it is
// in the kernel's table from its creation until it is reaped.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernel/files/fd_table.h"
#include "kernel/process/memory_map.h"
#include "kernel/process/signal.h"
#include "kernel/time/wait_queue.h"
#include "vfs/filesystem.h"

namespace cloche::kernel {

class Kernel;
class Task;
class ProcessTimers;
class Terminal;

using Pid = std::int32_t;
// A tree of processes that one `run` of the host started. A guest cannot leave it: it is inherited
// and never changes.
using JobId = std::uint64_t;

enum class ProcessState { running, stopped, zombie, reaped };

// How a process ended, as wait(2) encodes it.
class WaitStatus {
 public:
  static constexpr WaitStatus exited(int code) { return WaitStatus((code & 0xff) << 8); }
  static constexpr WaitStatus signaled(int signo) { return WaitStatus(signo); }
  static constexpr WaitStatus stopped(int signo) { return WaitStatus((signo << 8) | 0x7f); }
  static constexpr WaitStatus continued() { return WaitStatus(0xffff); }

  constexpr int raw() const { return raw_; }
  constexpr bool is_exited() const { return (raw_ & 0x7f) == 0; }
  constexpr bool is_signaled() const { return !is_exited() && (raw_ & 0xff) != 0x7f; }
  constexpr int exit_code() const { return (raw_ >> 8) & 0xff; }
  constexpr int term_signal() const { return raw_ & 0x7f; }
  // What a shell says: the code, or 128 + signal.
  constexpr int shell_status() const { return is_exited() ? exit_code() : 128 + term_signal(); }

 private:
  constexpr explicit WaitStatus(int raw) : raw_(raw) {}
  int raw_;
};

struct Usage {
  std::chrono::nanoseconds cpu{0};
  std::uint64_t max_memory_bytes = 0;
  std::uint64_t read_bytes = 0, read_calls = 0, written_bytes = 0,
                write_calls = 0;  // /proc/<pid>/io
};

// A session of processes (setsid) and its controlling terminal.
struct TtySession {
  explicit TtySession(Pid session_id) : id(session_id) {}
  Pid id;
  std::shared_ptr<Terminal> terminal;
  Pid foreground = 0;  // process group
};

// RLIMIT_* numbers, asm-generic.
inline constexpr int rlimit_cpu = 0, rlimit_fsize = 1, rlimit_data = 2, rlimit_stack = 3,
                     rlimit_core = 4, rlimit_rss = 5, rlimit_nproc = 6, rlimit_nofile = 7,
                     rlimit_memlock = 8, rlimit_as = 9, rlimit_count = 16;
inline constexpr std::uint64_t rlim_infinity = ~std::uint64_t{0};
struct ResourceLimit {
  std::uint64_t soft = rlim_infinity;
  std::uint64_t hard = rlim_infinity;
};

class Process : public std::enable_shared_from_this<Process> {
 public:
  Process(Kernel& kernel, Pid pid) : kernel_(kernel), pid_(pid) {}
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  Kernel& kernel() const noexcept { return kernel_; }
  Pid pid() const noexcept { return pid_; }

  Pid ppid = 0;
  Pid pgid = 0;
  std::shared_ptr<TtySession> session;
  JobId job = 0;
  bool host_waits = false;  // started by the host, which reaps it
  bool has_execed = false;  // setpgid of a child that has: EACCES
  int exit_signal = sigchld;

  vfs::Credentials credentials;
  vfs::Node cwd;
  std::uint32_t umask = 022;
  int nice = 0;
  std::string name;  // comm: at most 15 bytes
  std::string exe;   // the path of the program
  std::vector<std::string> argv;
  std::vector<std::string> environment;  // as given to exec

  FdTable fds;
  SignalState signals;
  MemoryMap memory;
  std::array<ResourceLimit, rlimit_count> limits{};
  // setitimer, alarm and timer_create: null until the first is set. Not inherited; an exec calls
  // its program_changed().
  std::shared_ptr<ProcessTimers> timers;

  ProcessState state = ProcessState::running;
  std::string end_message;                   // for a trap: what happened, for the host
  std::optional<WaitStatus> status;          // once zombie
  std::optional<WaitStatus> pending_report;  // stopped or continued, not yet waited for
  WaitQueue child_changed;                   // this process waits here for its children
  WaitQueue ended;                           // the host waits here for this process
  WaitQueue signals_changed;                 // woken when a signal is queued (signalfd)
  Usage usage;
  Usage children_usage;
  std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();

  // The task that executes this process; null before it starts and after it ends, and for a vfork
  // child before its exec.
  Task* task = nullptr;

 private:
  Kernel& kernel_;
  Pid pid_;
};

using ProcessPtr = std::shared_ptr<Process>;

}  // namespace cloche::kernel
