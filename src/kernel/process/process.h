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
#include <utility>
#include <vector>

#include "kernel/files/fd_table.h"
#include "kernel/process/memory_map.h"
#include "kernel/process/signal.h"
#include "kernel/time/kernel_lock.h"
#include "kernel/time/run_clock.h"
#include "kernel/time/wait_queue.h"
#include "vfs/filesystem.h"
#include "wasm/memory_budget.h"

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

// What a program was given by exec: held once, for its process and the children that have it too,
// and charged to the sandbox's memory.
struct ProgramWords {
  explicit ProgramWords(std::shared_ptr<wasm::MemoryBudget> budget = nullptr)
      : charge(std::move(budget)) {}
  std::vector<std::string> argv;
  std::vector<std::string> environment;
  wasm::MemoryCharge charge;
};

class Process : public std::enable_shared_from_this<Process> {
 public:
  Process(Kernel& kernel, Pid pid) : kernel_(kernel), pid_(pid) {}
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  Kernel& kernel() const noexcept { return kernel_; }
  Pid pid() const noexcept { return pid_; }

  Pid ppid GUARDED_BY(kernel_lock) = 0;
  Pid pgid GUARDED_BY(kernel_lock) = 0;
  std::shared_ptr<TtySession> session GUARDED_BY(kernel_lock);
  // Set before anybody else knows of the process; of one that serves the host in turns, with the
  // lock held, where nobody but its host looks at it.
  JobId job = 0;
  // Of the run that it belongs to, as `job` is; null: of none.
  std::shared_ptr<RunClock> clock GUARDED_BY(kernel_lock);
  bool host_waits GUARDED_BY(kernel_lock) = false;  // started by the host, which reaps it
  bool has_execed GUARDED_BY(kernel_lock) = false;  // setpgid of a child that has: EACCES
  int exit_signal GUARDED_BY(kernel_lock) = sigchld;

  vfs::Credentials credentials GUARDED_BY(kernel_lock);
  vfs::Node cwd GUARDED_BY(kernel_lock);
  std::uint32_t umask GUARDED_BY(kernel_lock) = 022;
  int nice GUARDED_BY(kernel_lock) = 0;
  std::string name GUARDED_BY(kernel_lock);  // comm: at most 15 bytes
  std::string exe GUARDED_BY(kernel_lock);   // the path of the program
  std::shared_ptr<const ProgramWords> words GUARDED_BY(kernel_lock) =
      std::make_shared<const ProgramWords>();

  FdTable fds GUARDED_BY(kernel_lock);
  SignalState signals GUARDED_BY(kernel_lock);
  MemoryMap memory GUARDED_BY(kernel_lock);
  std::array<ResourceLimit, rlimit_count> limits GUARDED_BY(kernel_lock){};
  // setitimer, alarm and timer_create: null until the first is set. Not inherited; an exec calls
  // its program_changed().
  std::shared_ptr<ProcessTimers> timers GUARDED_BY(kernel_lock);

  ProcessState state GUARDED_BY(kernel_lock) = ProcessState::running;
  std::string end_message GUARDED_BY(kernel_lock);  // for a trap: what happened, for the host
  std::optional<WaitStatus> status GUARDED_BY(kernel_lock);  // once zombie
  std::optional<WaitStatus> pending_report
      GUARDED_BY(kernel_lock);                        // stopped or continued, not yet waited for
  WaitQueue child_changed GUARDED_BY(kernel_lock);    // this process waits here for its children
  WaitQueue ended GUARDED_BY(kernel_lock);            // the host waits here for this process
  WaitQueue signals_changed GUARDED_BY(kernel_lock);  // woken when a signal is queued (signalfd)
  WaitQueue computes GUARDED_BY(kernel_lock);         // woken when its task goes on after a sleep
  Usage usage GUARDED_BY(kernel_lock);
  Usage children_usage GUARDED_BY(kernel_lock);
  std::chrono::steady_clock::time_point started GUARDED_BY(kernel_lock) =
      std::chrono::steady_clock::now();

  // The task that executes this process; null before it starts and after it ends, and for a vfork
  // child before its exec.
  Task* task GUARDED_BY(kernel_lock) = nullptr;

 private:
  Kernel& kernel_;
  Pid pid_;
};

using ProcessPtr = std::shared_ptr<Process>;

}  // namespace cloche::kernel
