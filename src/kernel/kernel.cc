// SPDX-License-Identifier: Apache-2.0
#include "kernel/kernel.h"

#include <algorithm>
#include <new>
#include <set>

#include "base/host_error.h"
#include "base/random.h"
#include "kernel/files/dev_layout.h"
#include "kernel/files/fifo.h"
#include "kernel/process/exec.h"
#include "kernel/process/process_timers.h"
#include "kernel/process/spawn_request.h"
#include "kernel/process/task.h"
#include "kernel/sockets/socket_table.h"
#include "kernel/statistics.h"
#include "kernel/terminals/terminal.h"
#include "kernel/terminals/terminal_table.h"
#include "kernel/time/timer_thread.h"
#include "wasm/guest_threads.h"
#include "wasm/run_here.h"

namespace cloche::kernel {
namespace {

constexpr Pid init_pid = 1;  // the parent of orphans: this kernel itself, which reaps them at once

}  // namespace

Kernel::Kernel(KernelServices services, std::unique_ptr<vfs::Namespace> files,
               KernelOptions options)
    : services_(services),
      clock_(services.timers.clock()),
      options_(std::move(options)),
      memory_(std::make_shared<wasm::MemoryBudget>(options_.limits.memory_bytes)),
      files_(std::move(files)),
      terminals_(std::make_unique<TerminalTable>(*this)),
      fifos_(std::make_unique<FifoTable>(*this)),
      sockets_(std::make_unique<SocketTable>(*this)),
      statistics_(std::make_unique<SyscallStatistics>()) {
  if (const Result<void> mounted = mount_kernel_filesystems(*this); !mounted) {
    throw HostError("cannot mount /proc and /dev/pts: " +
                    std::string(errno_info(mounted.error()).message));
  }
}

Kernel::~Kernel() {
  kill_job(0);
  services_.timers.drain(this);
  if (services_.idle_timers != nullptr) services_.idle_timers->drain(this);
  const KernelLock lock(mutex_);
  processes_.clear();
  sockets_->drop_in_flight();
}

bool Kernel::add_interpreter_thread() noexcept {
  if (interpreter_threads_.fetch_add(1) < options_.limits.max_interpreter_threads) return true;
  --interpreter_threads_;
  return false;
}

Result<ProcessPtr> Kernel::spawn(SpawnRequest request, wasm::RunHere* here) {
  const KernelLock lock(mutex_);
  Result<ProcessPtr> process = spawn_locked(request, here);
  request.files.clear();
  request.terminal.reset();
  return process;
}

Result<ProcessPtr> Kernel::spawn_locked(const SpawnRequest& request, wasm::RunHere* here) {
  if (processes_.size() >= options_.limits.max_processes) return Errno::again;
  const auto process = std::make_shared<Process>(*this, next_pid());
  process->ppid = init_pid;
  process->pgid = process->pid();
  process->session = std::make_shared<TtySession>(process->pid());
  process->job = ++last_job_;
  process->clock = request.clock;
  process->host_waits = true;
  process->credentials = request.credentials;
  process->fds.set_limit(options_.limits.max_open_files);
  process->limits = initial_limits();
  CLOCHE_ASSIGN(process->cwd, files_->lookup(files_->root(), request.cwd, vfs::Follow::yes,
                                             process->credentials));
  CLOCHE_ASSIGN(const vfs::Stat cwd, process->cwd.stat());
  if (cwd.type != vfs::FileType::directory) return Errno::notdir;
  for (const auto& [fd, file] : request.files) CLOCHE_TRY(process->fds.install_at(fd, file, 0));

  ExecRequest exec{
      .path = request.path, .argv = request.argv, .environment = request.environment, .start = {}};
  CLOCHE_ASSIGN(LoadedProgram loaded, load_program(*this, *process, exec, nullptr, request.stop));
  if (request.program) loaded.program = request.program;
  apply_exec(*process, std::move(loaded.identity));
  // Loading gives the lock up: others may have been given all numbers, and this one again.
  if (!processes_.emplace(process->pid(), process).second) return Errno::again;
  if (request.terminal) {
    process->session->terminal = request.terminal;
    process->session->foreground = process->pgid;
    request.terminal->attach(process->session);
  }
  if (const Result<void> begun = begin(request, process, std::move(loaded.program), here); !begun) {
    forget(*process);
    return begun.error();
  }
  return process;
}

// A process that is in the table: nothing of it is left where it cannot begin.
Result<void> Kernel::begin(const SpawnRequest& request, const ProcessPtr& process,
                           std::shared_ptr<const Program> program, wasm::RunHere* here) try {
  auto task = std::make_unique<Task>(process, Task::Start{std::move(program), nullptr, 0, 0});
  if (request.begin != SpawnRequest::Begin::parked) return start(process, std::move(task), here);
  process->task = task.get();
  ++live_tasks_;
  try {
    Task::park(std::move(task));
  } catch (const std::bad_alloc&) {
    process->task = nullptr;
    --live_tasks_;
    throw;
  }
  return {};
} catch (const std::bad_alloc&) {
  return Errno::nomem;  // of the host
}

std::array<ResourceLimit, rlimit_count> Kernel::initial_limits() const {
  std::array<ResourceLimit, rlimit_count> limits{};
  limits[rlimit_stack] = {std::uint64_t{8} << 20, rlim_infinity};
  limits[rlimit_core] = {0, 0};
  limits[rlimit_nproc] = {options_.limits.max_processes, options_.limits.max_processes};
  limits[rlimit_nofile] = {options_.limits.max_open_files, options_.limits.max_open_files};
  return limits;
}

std::optional<WaitStatus> Kernel::wait_for(const ProcessPtr& process, Deadline deadline) {
  const KernelLock lock(mutex_);
  Waiter waiter;
  WaitQueue* const queues[] = {&process->ended};
  while (!process->status) {
    if (!waiter.sleep(mutex_, queues, deadline) && !process->status) return std::nullopt;
  }
  if (process->state == ProcessState::zombie) reap(*process);
  return process->status;
}

std::optional<WaitStatus> Kernel::wait_for(const ProcessPtr& process, const RunClock& clock) {
  for (;;) {
    Deadline look;
    {
      const KernelLock lock(mutex_);
      if (clock.is_over() && !process->status) return std::nullopt;
      look = clock.next_look();
    }
    if (std::optional<WaitStatus> status = wait_for(process, look)) return status;
  }
}

void Kernel::kill_job(JobId job) {
  // A host without threads resumes no parked task: it is asked again.
  constexpr std::chrono::milliseconds patience{20};
  const KernelLock lock(mutex_);
  if (job == 0) {
    ++kills_;
    user_loads_.changed.wake_all();
  }
  Waiter waiter;
  WaitQueue* const queues[] = {&task_ended_};
  for (;;) {
    bool alive = false;
    wasm::RunHere here;  // the end of a parked task
    for (const auto& [pid, process] : std::map(processes_)) {
      if (job != 0 && process->job != job) continue;
      if (process->state == ProcessState::zombie) {
        if (process->ppid == init_pid) reap(*process);
        continue;
      }
      alive = true;
      (void)post(*process, SignalInfo{.signo = sigkill, .code = si_kernel}, &here);
    }
    // The last thing that a task does is to leave the count: nothing of the kernel is touched after
    // that.
    if (job == 0 && live_tasks_ != 0) alive = true;
    if (here.caught()) {
      const KernelUnlocked unlocked(mutex_);
      here.run();
      continue;
    }
    if (!alive) return;
    const Deadline again =
        parked_.empty() ? std::nullopt : Deadline(std::chrono::steady_clock::now() + patience);
    (void)waiter.sleep(mutex_, queues, again);
  }
}

void Kernel::signal_job(JobId job, int signo) {
  const KernelLock lock(mutex_);
  for (const auto& [pid, process] : processes_) {
    if (process->job == job) (void)post(*process, SignalInfo{.signo = signo, .code = si_kernel});
  }
}

void Kernel::stop_all() {
  const KernelLock lock(mutex_);
  is_frozen_ = true;
  notice_all();
}

void Kernel::continue_all() {
  const KernelLock lock(mutex_);
  is_frozen_ = false;
  notice_all();
}

// What is at rest looks where it goes on.
void Kernel::notice_all() noexcept {
  for (const auto& [pid, process] : processes_) {
    if (process->task != nullptr && !parked_.contains(pid)) process->task->notice();
  }
}

std::size_t Kernel::process_count() {
  const KernelLock lock(mutex_);
  return processes_.size();
}

ProcessPtr Kernel::find(Pid pid) const {
  const auto it = processes_.find(pid);
  return it == processes_.end() ? nullptr : it->second;
}

// One that no process and no group has.
Pid Kernel::next_pid() {
  do {
    last_pid_ = last_pid_ >= options_.pid_max ? init_pid + 1 : last_pid_ + 1;
  } while (processes_.contains(last_pid_) || group_exists(last_pid_));
  return last_pid_;
}

Result<ProcessPtr> Kernel::create_child(Process& parent, int exit_signal) {
  if (processes_.size() >= parent.limits[rlimit_nproc].soft ||
      processes_.size() >= options_.limits.max_processes) {
    return Errno::again;
  }
  const auto child = std::make_shared<Process>(*this, next_pid());
  child->ppid = parent.pid();
  child->pgid = parent.pgid;
  child->session = parent.session;
  child->job = parent.job;
  child->clock = parent.clock;
  child->exit_signal = exit_signal;
  child->credentials = parent.credentials;
  child->cwd = parent.cwd;
  child->umask = parent.umask;
  child->name = parent.name;
  child->exe = parent.exe;
  child->words = parent.words;
  child->fds = parent.fds;
  child->signals = parent.signals.for_child();
  child->memory = parent.memory;
  child->memory.forget_shared();
  child->nice = parent.nice;
  child->limits = parent.limits;
  processes_.emplace(child->pid(), child);
  ProcessTimers::watch_cpu_limit(*child);
  return child;
}

Result<void> Kernel::start(const ProcessPtr& process, std::unique_ptr<Task> task,
                           wasm::RunHere* here) {
  process->task = task.get();
  ++live_tasks_;
  const Result<void> started = execute(task, here);
  if (!started) {
    process->task = nullptr;
    --live_tasks_;
  }
  return started;
}

// Takes the task, unless it fails.
Result<void> Kernel::execute(std::unique_ptr<Task>& task, wasm::RunHere* here) {
  // The thread owns the task; but what it is given is a function, which must be copyable.
  std::shared_ptr<std::unique_ptr<Task>> given;
  Result<void> begun = Errno::nomem;  // of the host
  try {
    given = std::make_shared<std::unique_ptr<Task>>(std::move(task));
    begun = services_.threads.run(
        [this, given] {
          std::unique_ptr<Task> ended = Task::run(std::move(*given));
          if (!ended) return;
          // Instance and files are gone before the kernel may be.
          ended.reset();
          const KernelLock lock(mutex_);
          --live_tasks_;
          task_ended_.wake_all();
        },
        here);
  } catch (const std::bad_alloc&) {
  }
  if (!begun && given) task = std::move(*given);
  return begun;
}

void Kernel::park(std::unique_ptr<Task> task) {
  const Pid pid = task->owner().pid();
  const SteadyTime since = task->parked_since_ = clock_.steady();
  parked_.emplace(pid, std::move(task));
  watch_idle(since);
}

Result<void> Kernel::resume(Process& process, wasm::RunHere* here) {
  const auto it = parked_.find(process.pid());
  if (it == parked_.end()) return {};
  std::unique_ptr<Task> task = std::move(it->second);
  parked_.erase(it);
  task->parked_ = false;
  if (const Result<void> going = execute(task, here); !going) {
    task->parked_ = true;
    park(std::move(task));
    return going.error();
  }
  return {};
}

void Kernel::forget(Process& process) {
  process.fds.close_all();
  process.state = ProcessState::reaped;
  processes_.erase(process.pid());
}

std::chrono::nanoseconds Kernel::cpu_time() const {
  std::chrono::nanoseconds all = cpu_of_ended_;
  for (const auto& [pid, process] : processes_) {
    if (process->task != nullptr) all += process->task->cpu_time();
  }
  return all;
}

void Kernel::ended(Process& process, WaitStatus status) {
  cpu_of_ended_ += process.usage.cpu;
  process.fds.close_all();
  locks_.process_ended(process.pid());
  process.timers.reset();
  process.cwd = {};
  // Its last reference may go without the lock: it has nothing of the files by then.
  process.memory.reset(0, 0);
  process.status = status;
  process.state = ProcessState::zombie;
  const ProcessPtr keep = process.shared_from_this();

  // A group is orphaned by this end when it was this process that tied it to another group of the
  // session: as the parent, or as the child, of what lies on the other side.
  const auto tied = [](const Process& one, const Process& other) REQUIRES(kernel_lock) {
    return one.session == other.session && one.pgid != other.pgid;
  };
  std::set<Pid> untied;
  if (const ProcessPtr parent = find(process.ppid); parent && tied(*parent, process))
    untied.insert(process.pgid);
  for (const auto& [pid, other] : std::map(processes_)) {
    if (other->ppid != process.pid()) continue;
    if (tied(*other, process)) untied.insert(other->pgid);
    other->ppid = init_pid;
    if (other->state == ProcessState::zombie) reap(*other);
  }
  if (process.session && process.session->id == process.pid() && process.session->terminal) {
    const auto terminal = std::exchange(process.session->terminal, nullptr);
    terminal->session_ended(*this);
  }
  for (const Pid pgid : untied)
    if (group_is_orphaned(pgid)) wake_orphaned_group(pgid);

  const ProcessPtr parent = find(process.ppid);
  process.ended.wake_all();
  task_ended_.wake_all();
  if (!parent) {
    // Started by the host, which reaps it in wait_for; an orphan is reaped at once.
    if (!process.host_waits) reap(process);
    return;
  }
  const bool unwanted = parent->signals.disposition(sigchld).handler == Disposition::ign ||
                        (parent->signals.disposition(sigchld).flags & sa_nocldwait) != 0;
  const int code = status.is_exited() ? cld_exited : cld_killed;
  report_to_parent(process, code, status.is_exited() ? status.exit_code() : status.term_signal());
  if (unwanted) reap(process);
}

void Kernel::report_to_parent(Process& process, int code, int status) {
  const ProcessPtr parent = find(process.ppid);
  if (!parent) return;
  const bool ended = code == cld_exited || code == cld_killed || code == cld_dumped;
  const int signo = ended ? process.exit_signal : sigchld;
  const bool wanted = ended || (parent->signals.disposition(sigchld).flags & sa_nocldstop) == 0;
  if (signo != 0 && wanted) {
    (void)post(*parent, SignalInfo{.signo = signo,
                                   .code = code,
                                   .pid = process.pid(),
                                   .uid = process.credentials.uid,
                                   .status = status});
  }
  parent->child_changed.wake_all();
}

void Kernel::reap(Process& process) {
  const ProcessPtr keep = process.shared_from_this();
  if (const ProcessPtr parent = find(process.ppid)) {
    parent->children_usage.cpu += process.usage.cpu + process.children_usage.cpu;
    parent->children_usage.max_memory_bytes =
        std::max({parent->children_usage.max_memory_bytes, process.usage.max_memory_bytes,
                  process.children_usage.max_memory_bytes});
  }
  process.state = ProcessState::reaped;
  processes_.erase(process.pid());
}

Result<void> Kernel::post(Process& target, const SignalInfo& info, wasm::RunHere* here) {
  const int signo = info.signo;
  if (target.state == ProcessState::zombie || target.state == ProcessState::reaped) return {};
  if (signo == sigcont) {
    target.signals.discard(stop_signals);
    if (target.state == ProcessState::stopped) {
      target.state = ProcessState::running;
      target.pending_report = WaitStatus::continued();
      report_to_parent(target, cld_continued, sigcont);
      if (target.task) target.task->notice(here);
    }
  } else if (stop_signals.has(signo)) {
    target.signals.discard(SignalSet::of(sigcont));
  }
  // An ignored signal leaves no trace, unless it is blocked: then sigwait may want it, or a handler
  // comes.
  if (target.signals.ignored(signo) && !target.signals.mask.has(signo) && !unblockable.has(signo))
    return {};
  if (!target.signals.enqueue(info)) return Errno::again;
  target.signals_changed.wake_all();
  if (target.task && target.signals.deliverable().has(signo)) target.task->notice(here);
  return {};
}

Result<void> Kernel::kill(Process& sender, Pid target, const SignalInfo& info) {
  if (info.signo != 0 && !valid_signal(info.signo)) return Errno::inval;
  if (target == INT32_MIN) return Errno::srch;  // no group has that number
  std::vector<ProcessPtr> chosen;
  for (const auto& [pid, process] : processes_) {
    const bool match = target > 0     ? pid == target
                       : target == 0  ? process->pgid == sender.pgid
                       : target == -1 ? pid != sender.pid()
                                      : process->pgid == -target;
    if (match) chosen.push_back(process);
  }
  if (chosen.empty()) return Errno::srch;
  for (const ProcessPtr& process : chosen) {
    if (info.signo != 0) CLOCHE_TRY(post(*process, info));
  }
  return {};
}

void Kernel::post_to_group(Pid pgid, const SignalInfo& info) {
  std::vector<ProcessPtr> members;
  for (const auto& [pid, process] : processes_) {
    if (process->pgid == pgid) members.push_back(process);
  }
  for (const ProcessPtr& member : members) (void)post(*member, info);
}

bool Kernel::group_exists(Pid pgid) const {
  return std::ranges::any_of(processes_, [&](const auto& entry) REQUIRES(kernel_lock) {
    return entry.second->pgid == pgid;
  });
}

bool Kernel::group_is_orphaned(Pid pgid) const {
  for (const auto& [pid, member] : processes_) {
    if (member->pgid != pgid || member->state == ProcessState::zombie) continue;
    const ProcessPtr parent = find(member->ppid);
    if (parent && parent->session == member->session && parent->pgid != pgid) return false;
  }
  return true;
}

void Kernel::wake_orphaned_group(Pid pgid) {
  const bool any_stopped =
      std::ranges::any_of(processes_, [&](const auto& entry) REQUIRES(kernel_lock) {
        return entry.second->pgid == pgid && entry.second->state == ProcessState::stopped;
      });
  if (!any_stopped) return;
  post_to_group(pgid, SignalInfo{.signo = sighup, .code = si_kernel});
  post_to_group(pgid, SignalInfo{.signo = sigcont, .code = si_kernel});
}

void Kernel::fill_random(std::span<std::byte> to) { cloche::fill_random(to); }

}  // namespace cloche::kernel
