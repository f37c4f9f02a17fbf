// SPDX-License-Identifier: Apache-2.0
// Kernel: the operating system of one sandbox: processes, files, terminals, signals, time. No
// thread of its own: a process is a thread of the host while it runs, and an idle kernel costs
// memory only.
//
// Locks: one mutex guards the whole kernel (kernel/time/kernel_lock.h). Functions say whether they
// are called with it held or take it.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernel/files/append_turns.h"
#include "kernel/files/byte_ring.h"
#include "kernel/files/file.h"
#include "kernel/files/file_locks.h"
#include "kernel/kernel_options.h"
#include "kernel/process/process.h"
#include "kernel/time/kernel_lock.h"
#include "kernel/time/run_clock.h"
#include "kernel/time/wait_queue.h"
#include "vfs/namespace.h"
#include "wasm/memory_budget.h"

namespace cloche::wasm {
class RunHere;
}

namespace cloche::kernel {

namespace process_files {
class Acting;
}
class Task;
struct Program;
struct SpawnRequest;
class TerminalTable;
class FifoTable;
class SocketTable;
struct SyscallStatistics;

// Programs that users of a sandbox brought and that are being loaded.
struct UserLoads {
  std::uint32_t count = 0;
  WaitQueue changed;  // one has ended; or all processes were killed: who waits is to look at that
};

class Kernel {
 public:
  Kernel(KernelServices services, std::unique_ptr<vfs::Namespace> files, KernelOptions options);
  ~Kernel();  // kills everything, waits for its threads
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  KernelMutex& mutex() noexcept { return mutex_; }
  const KernelLimits& limits() const noexcept { return options_.limits; }
  const KernelOptions& options() const noexcept { return options_; }
  KernelServices& services() noexcept { return services_; }
  // How often all processes were killed: whoever waits outside of a process sees that it must stop.
  std::uint64_t kills() const noexcept REQUIRES(kernel_lock) { return kills_; }

  // Starts a process as leader of a new session and job, on a thread of its own or that of `here`.
  // The request's files are the process's alone afterwards: what they do at their end is done under
  // the kernel lock. Errors are those of execve; EINTR when all processes were killed meanwhile.
  Result<ProcessPtr> spawn(SpawnRequest request, wasm::RunHere* here = nullptr)
      EXCLUDES(kernel_lock);
  // Waits for the end of `process`; its status, or nothing when the deadline passed. Reaps it.
  std::optional<WaitStatus> wait_for(const ProcessPtr& process, Deadline deadline)
      EXCLUDES(kernel_lock);
  // The same until the clock is over.
  std::optional<WaitStatus> wait_for(const ProcessPtr& process, const RunClock& clock)
      EXCLUDES(kernel_lock);
  // SIGKILL to all processes of a job (0: of the kernel); returns when none of them is left.
  void kill_job(JobId job) EXCLUDES(kernel_lock);
  // A signal to all processes of a job; returns at once.
  void signal_job(JobId job, int signo) EXCLUDES(kernel_lock);
  // Has all processes stand still, those that begin too, until they may go on: at their next look
  // at signals, whatever state they are in and whoever sends them what. They see nothing but that
  // time has passed. Parked ones do nothing, and SIGKILL ends each.
  void stop_all() EXCLUDES(kernel_lock);
  void continue_all() EXCLUDES(kernel_lock);
  bool is_frozen() const noexcept REQUIRES(kernel_lock) { return is_frozen_; }
  // One more thread of an interpreter beside its process's own; false at the limit.
  bool add_interpreter_thread() noexcept;
  void remove_interpreter_thread() noexcept { --interpreter_threads_; }
  // Ids, for the tests and the benches.
  std::size_t process_count() EXCLUDES(kernel_lock);

  // --- Called with the lock held ---

  vfs::Namespace& files() noexcept REQUIRES(kernel_lock) { return *files_; }
  ProcessPtr find(Pid pid) const REQUIRES(kernel_lock);
  const std::map<Pid, ProcessPtr>& processes() const noexcept REQUIRES(kernel_lock) {
    return processes_;
  }

  // For processes that end together.
  JobId new_job() noexcept REQUIRES(kernel_lock) { return ++last_job_; }
  // A new process in the table, a copy of `parent` as clone makes it; EAGAIN at the limit.
  Result<ProcessPtr> create_child(Process& parent, int exit_signal) REQUIRES(kernel_lock);
  // Starts the thread that executes it; EAGAIN when the host gives none.
  Result<void> start(const ProcessPtr& process, std::unique_ptr<Task> task,
                     wasm::RunHere* here = nullptr) REQUIRES(kernel_lock);
  // A parked task goes on, on a thread of its own or that of `here`; one that is not parked looks
  // for itself before it parks. EAGAIN when the host gives no thread: it stays parked.
  Result<void> resume(Process& process, wasm::RunHere* here = nullptr) REQUIRES(kernel_lock);
  // Takes back a create_child whose start failed: as if it had never been.
  void forget(Process& process) REQUIRES(kernel_lock);
  // A process has ended: closes its files, tells its parent, gives its children to init.
  void ended(Process& process, WaitStatus status) REQUIRES(kernel_lock);
  void reap(Process& process) REQUIRES(kernel_lock);
  // SIGCHLD with this si_code, and whoever waits; for a stop or a continue too.
  void report_to_parent(Process& process, int code, int status) REQUIRES(kernel_lock);

  // Queues a signal (default actions happen in the target, which a parked one is resumed for).
  // EPERM and ESRCH are the callers' to check.
  Result<void> post(Process& target, const SignalInfo& info, wasm::RunHere* here = nullptr)
      REQUIRES(kernel_lock);
  // kill(2)'s target rules: pid > 0, 0, -1, < -1.
  Result<void> kill(Process& sender, Pid target, const SignalInfo& info) REQUIRES(kernel_lock);
  void post_to_group(Pid pgid, const SignalInfo& info) REQUIRES(kernel_lock);
  bool group_exists(Pid pgid) const REQUIRES(kernel_lock);
  // True when no member of the group has a parent in the same session but another group.
  bool group_is_orphaned(Pid pgid) const REQUIRES(kernel_lock);

  // Memory of all processes: their instances charge what they take.
  const std::shared_ptr<wasm::MemoryBudget>& memory() const noexcept { return memory_; }
  std::uint64_t memory_in_use() const noexcept { return memory_->used_bytes(); }
  // Of all processes that there have been.
  std::chrono::nanoseconds cpu_time() const REQUIRES(kernel_lock);

  TerminalTable& terminals() noexcept REQUIRES(kernel_lock) { return *terminals_; }
  FifoTable& fifos() noexcept REQUIRES(kernel_lock) { return *fifos_; }
  SocketTable& sockets() noexcept REQUIRES(kernel_lock) { return *sockets_; }
  // What the buffers of pipes, terminals and sockets may take together.
  const std::shared_ptr<BufferBudget>& buffers() noexcept REQUIRES(kernel_lock) { return buffers_; }
  FileLocks& locks() noexcept REQUIRES(kernel_lock) { return locks_; }
  AppendTurns& append_turns() noexcept REQUIRES(kernel_lock) { return append_turns_; }
  UserLoads& user_loads() noexcept REQUIRES(kernel_lock) { return user_loads_; }
  // Of all its processes. See system_wait.h.
  SystemWaits& system_waits() noexcept REQUIRES(kernel_lock) { return system_waits_; }
  // Woken when a task begins or ends to compute.
  WaitQueue& computing_changed() noexcept REQUIRES(kernel_lock) { return computing_changed_; }
  // The process whose path is being walked: whose /proc/self it is. Null for the host's own walks.
  // See process_files::Acting.
  const Process* acting() const noexcept REQUIRES(kernel_lock) { return acting_; }
  SyscallStatistics& statistics() noexcept REQUIRES(kernel_lock) { return *statistics_; }
  SteadyTime booted() const noexcept { return booted_; }
  // By which guests' time goes: what they are told, sleeps, deadlines of calls, timers.
  Clock& clock() const noexcept { return clock_; }
  std::uint64_t next_file_id() noexcept REQUIRES(kernel_lock) {
    return ++last_file_id_;
  }  // inode numbers of pipes, sockets ...

  // Random bytes from the host; what a guest's entropy comes from.
  static void fill_random(std::span<std::byte> to);

 private:
  friend class Task;
  friend class process_files::Acting;

  Result<ProcessPtr> spawn_locked(const SpawnRequest& request, wasm::RunHere* here)
      REQUIRES(kernel_lock);
  Result<void> begin(const SpawnRequest& request, const ProcessPtr& process,
                     std::shared_ptr<const Program> program, wasm::RunHere* here)
      REQUIRES(kernel_lock);
  Result<void> execute(std::unique_ptr<Task>& task, wasm::RunHere* here) REQUIRES(kernel_lock);
  // From Task::park.
  void park(std::unique_ptr<Task> task) REQUIRES(kernel_lock);
  // Tasks that stay parked for KernelServices::idle_after have their memory packed. `since`: one
  // is.
  void watch_idle(SteadyTime since) REQUIRES(kernel_lock);
  void pack_idle() EXCLUDES(kernel_lock);
  std::array<ResourceLimit, rlimit_count> initial_limits() const;
  void wake_orphaned_group(Pid pgid) REQUIRES(kernel_lock);
  void notice_all() noexcept REQUIRES(kernel_lock);

  Pid next_pid() REQUIRES(kernel_lock);

  KernelMutex mutex_;
  KernelServices services_;
  Clock& clock_;
  UserLoads user_loads_ GUARDED_BY(kernel_lock);
  SystemWaits system_waits_ GUARDED_BY(kernel_lock);
  KernelOptions options_;
  std::shared_ptr<wasm::MemoryBudget> memory_;
  AppendTurns append_turns_ GUARDED_BY(kernel_lock);
  FileLocks locks_
      GUARDED_BY(kernel_lock);  // before everything that holds files: their ends look here
  const Process* acting_ GUARDED_BY(kernel_lock) = nullptr;
  std::unique_ptr<vfs::Namespace> files_ PT_GUARDED_BY(kernel_lock);
  std::map<Pid, ProcessPtr> processes_ GUARDED_BY(kernel_lock);
  Pid last_pid_ GUARDED_BY(kernel_lock) = 1;
  JobId last_job_ GUARDED_BY(kernel_lock) = 0;
  std::uint64_t kills_ GUARDED_BY(kernel_lock) = 0;
  std::chrono::nanoseconds cpu_of_ended_ GUARDED_BY(kernel_lock){0};
  bool is_frozen_ GUARDED_BY(kernel_lock) = false;
  std::uint32_t computing_ GUARDED_BY(kernel_lock) = 0;  // tasks that neither sleep nor are parked
  WaitQueue computing_changed_ GUARDED_BY(kernel_lock);
  std::uint64_t last_file_id_ GUARDED_BY(kernel_lock) = 0;
  std::size_t live_tasks_ GUARDED_BY(kernel_lock) = 0;  // parked ones too
  std::map<Pid, std::unique_ptr<Task>> parked_ GUARDED_BY(kernel_lock);
  bool is_idle_watched_ GUARDED_BY(kernel_lock) = false;  // there is a timer for them
  WaitQueue task_ended_ GUARDED_BY(kernel_lock);
  SteadyTime booted_ = clock_.steady();
  std::shared_ptr<BufferBudget> buffers_ = std::make_shared<BufferBudget>();
  std::atomic<std::uint32_t> interpreter_threads_ = 0;
  std::unique_ptr<TerminalTable> terminals_ PT_GUARDED_BY(kernel_lock);
  std::unique_ptr<FifoTable> fifos_ PT_GUARDED_BY(kernel_lock);
  std::unique_ptr<SocketTable> sockets_ PT_GUARDED_BY(kernel_lock);
  std::unique_ptr<SyscallStatistics> statistics_ PT_GUARDED_BY(kernel_lock);
};

}  // namespace cloche::kernel
