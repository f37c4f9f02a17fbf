// SPDX-License-Identifier: Apache-2.0
// Task: executes one process, from its start through every exec to its end, on one thread of the
// host.
//
// The thread runs guest code without the kernel lock; a system call takes the lock, and sleeps
// through block(), which releases it. Signals, kill and deadlines wake every block(). A program of
// the host's (Startup::run) may come to rest while no code of the guest is on its stack: the thread
// is given back, the task is parked, and goes on, on any thread, with Kernel::resume or for a
// signal.
#pragma once

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <variant>

#include "base/result.h"
#include "kernel/process/process.h"
#include "kernel/process/program.h"
#include "kernel/time/kernel_lock.h"
#include "wasm/instance.h"

namespace cloche::wasm {
class RunHere;
}

namespace cloche::kernel {

class Kernel;

// The words of an interpreter that handles signals between its own instructions, as CPython does:
// addresses in its memory. Told of a signal, it runs the handler by itself, soon.
struct InterpreterSignals {
  std::uint32_t any = 0;      // 1: some signal has come
  std::uint32_t breaker = 0;  // has `breaker_bits` set when the interpreter must look
  std::uint32_t breaker_bits = 0;
  std::uint32_t first = 0;  // + signo * stride: 1, this one has come
  std::uint32_t stride = 0;
};

// What a program of the host's keeps beside a task's instance. It goes before that does, without
// the kernel lock.
class Companion {
 public:
  Companion() = default;
  virtual ~Companion() = default;
  Companion(const Companion&) = delete;
  Companion& operator=(const Companion&) = delete;

  // How the guest ended, where that was in another call than the task's own.
  virtual std::optional<wasm::Outcome> failure() = 0;
};

class Task {
 public:
  // What a new task executes: a program from its start, or a clone's instance with its entry.
  struct Start {
    std::shared_ptr<const Program> program;
    std::unique_ptr<wasm::Instance> clone;  // set for a clone
    std::uint32_t clone_function = 0;
    std::uint32_t clone_argument = 0;
  };

  Task(ProcessPtr process, Start start);
  ~Task();
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  // The thread's body. Gives a task that has ended back; one that is at rest is parked, and may run
  // elsewhere or be gone by then.
  static std::unique_ptr<Task> run(std::unique_ptr<Task> task) noexcept EXCLUDES(kernel_lock);
  // Gives the task to the kernel until that resumes it. From the moment that the lock is released
  // it may go on elsewhere.
  static void park(std::unique_ptr<Task> task) REQUIRES(kernel_lock);

  Kernel& kernel() const noexcept { return kernel_; }
  // The process on which system calls act: the owner, or its vfork child until that execs or exits.
  Process& process() const noexcept { return vfork_child_ ? *vfork_child_ : *owner_; }
  Process& owner() const noexcept { return *owner_; }
  const Program& program() const noexcept { return *program_; }
  // Of a program that has a module.
  wasm::Instance& instance() noexcept { return *instance_; }
  // What its program wrote by now is what such starts write. On the task's thread.
  void learn_hot_pages() {
    if (hot_pages_) hot_pages_->learn(*instance_);
  }

  // --- Called with the kernel lock held, by the task's own thread ---

  // Sleeps until one of `queues` is woken (look at your condition again), or the deadline:
  // Errno::timedout. Stops and continues happen inside. Errno::restart: a signal wants to be
  // handled, or the process must die: return it (calls that Linux never restarts, see signal(7),
  // turn it to Errno::intr).
  Result<void> block(std::initializer_list<WaitQueue*> queues, Deadline deadline = std::nullopt)
      REQUIRES(kernel_lock) {
    return block(std::span<WaitQueue* const>(queues.begin(), queues.size()), deadline);
  }
  Result<void> block(std::span<WaitQueue* const> queues, Deadline deadline) REQUIRES(kernel_lock);

  // Looks at the pending signals: default actions happen here (a stop sleeps here, and so does who
  // is frozen). True when a handler must run, or the task must unwind. Who has what others wait for
  // stops later, at the next look.
  enum class Stops : std::uint8_t { here, later };
  bool attend(Stops stops = Stops::here) REQUIRES(kernel_lock);
  // The guest is to leave its code: exit, a fatal signal, a kill, or an exec that succeeded.
  bool unwinding() const noexcept REQUIRES(kernel_lock) { return unwinding_; }
  // An exec has succeeded: the next program starts when this one's code is left.
  bool replacing() const noexcept REQUIRES(kernel_lock) { return next_program_ != nullptr; }
  // The address of the guest's pending word; nothing for a WASI guest.
  std::optional<std::uint32_t> pending_word() const noexcept REQUIRES(kernel_lock) {
    return pending_word_;
  }

  // exit_group: ends the acting process; for a vfork child the caller goes on as the parent, and
  // this returns the child's pid.
  std::optional<Pid> exit(WaitStatus status) REQUIRES(kernel_lock);
  // execve after the program is loaded. Pid of the child in the vfork state; otherwise 0 (and the
  // task unwinds).
  Result<Pid> exec(std::shared_ptr<const Program> program) REQUIRES(kernel_lock);
  Result<void> vfork_begin() REQUIRES(kernel_lock);
  // linux.clone. Releases the lock while memory is copied.
  Result<Pid> clone(std::uint32_t function, std::uint32_t argument, std::uint32_t flags)
      REQUIRES(kernel_lock);

  // Grows linear memory to at least `size` bytes; ENOMEM at the limits of the process and the
  // sandbox.
  Result<void> grow_memory(std::uint64_t size) REQUIRES(kernel_lock);
  // The linear memory as it is now, for what /proc and getrusage tell.
  void note_memory(std::uint64_t size) noexcept REQUIRES(kernel_lock);

  // From now until exec a signal with a handler is told to the interpreter in these words; a call
  // that it interrupts is EINTR. Addresses that are none are passed over.
  void set_interpreter_signals(const InterpreterSignals& words) REQUIRES(kernel_lock) {
    interpreter_signals_ = words;
  }
  bool has_interpreter_signals() const noexcept REQUIRES(kernel_lock) {
    return interpreter_signals_.has_value();
  }
  const std::optional<InterpreterSignals>& interpreter_signals() const noexcept
      REQUIRES(kernel_lock) {
    return interpreter_signals_;
  }
  // Another thread of the interpreter than its main one runs from now on, and signals wait for the
  // main one: of each that comes this thread is told, in words of its own (of which `first` is the
  // one to set), so that it lets the main one run. Nothing: the main one runs, and is told.
  void set_stand_in(const std::optional<InterpreterSignals>& words) REQUIRES(kernel_lock);
  // A system call begins: what was told before does not interrupt it.
  void begin_call() noexcept REQUIRES(kernel_lock) { told_ = false; }

  // True when no pending handler was installed without SA_RESTART: an interrupted call is issued
  // again after them.
  bool handlers_restart() const noexcept REQUIRES(kernel_lock);

  std::chrono::nanoseconds cpu_time() const REQUIRES(kernel_lock);
  // What /proc tells: it sleeps in a system call; its linear memory when it last called.
  bool sleeping() const noexcept REQUIRES(kernel_lock) { return sleeping_ || parked_; }
  // It is frozen, and has seen it.
  bool stands_still() const noexcept REQUIRES(kernel_lock) { return stands_still_; }
  std::uint64_t memory_bytes() const noexcept REQUIRES(kernel_lock) { return memory_bytes_; }

  // --- Called with the kernel lock held, by any thread ---

  // Signals of the process changed: wakes a sleeper, interrupts a guest that computes, has a parked
  // one go on (see Kernel::resume).
  void notice(wasm::RunHere* here = nullptr) noexcept REQUIRES(kernel_lock);

  // --- Called without the lock, by the thread on which the task's guest runs ---

  // The guest goes on on another thread of the host: this one leaves, then that one enters. CPU
  // time is counted where it runs.
  void leave_thread() noexcept EXCLUDES(kernel_lock);
  void enter_thread() noexcept EXCLUDES(kernel_lock);

  // Null until it has one.
  Companion* companion() const noexcept { return companion_.get(); }
  void keep(std::unique_ptr<Companion> companion) { companion_ = std::move(companion); }

  // --- Called without the lock, by wasm callbacks on the task's thread ---

  // The engine's epoch: runs default actions and handlers of signals.
  wasm::EpochAction on_epoch() noexcept EXCLUDES(kernel_lock);
  // Runs in every host call before it returns to the guest: sets the guest's pending word, cheap
  // when nothing is pending.
  bool attention() const noexcept { return attention_.load(std::memory_order_acquire); }
  static Task& of(void* instance_owner) noexcept { return *static_cast<Task*>(instance_owner); }

 private:
  friend class Kernel;
  // Nothing: it has ended.
  std::optional<AtRest> run_programs() noexcept EXCLUDES(kernel_lock);
  struct Ended {};
  struct Replaced {};
  using LeftProgram = std::variant<Ended, Replaced, AtRest>;
  Result<void> start_instance() EXCLUDES(kernel_lock);
  Errno cannot_start(const Error& error) EXCLUDES(kernel_lock);
  void start_without_instance() EXCLUDES(kernel_lock);
  void adopt_instance();
  bool is_to_leave() EXCLUDES(kernel_lock);
  Result<std::unique_ptr<wasm::Instance>> copy_instance();
  // Runs what is loaded until it ends, or an exec put the next program in place.
  LeftProgram run_program() noexcept EXCLUDES(kernel_lock);
  StartupEnd call_program() EXCLUDES(kernel_lock);
  void stop_here(int signo) REQUIRES(kernel_lock);
  void stand_still() REQUIRES(kernel_lock);
  void sleep_until_noticed() REQUIRES(kernel_lock);
  // Between two sleeps. Each that begins while others of the sandbox compute has its place after
  // them, and the priority of that place.
  void begin_computing() REQUIRES(kernel_lock);
  void end_computing() noexcept REQUIRES(kernel_lock);
  void tell_interpreter(SignalSet handled) REQUIRES(kernel_lock);
  // Where it has not looked yet at what it was told: true, and its breaker is set, which it may
  // have been writing meanwhile.
  bool remind_interpreter() REQUIRES(kernel_lock);

  Kernel& kernel_;
  ProcessPtr owner_;
  ProcessPtr vfork_child_;
  std::shared_ptr<const Program> program_;
  std::shared_ptr<const Program> next_program_ GUARDED_BY(kernel_lock);  // set by exec
  std::unique_ptr<wasm::Instance> instance_;
  std::shared_ptr<wasm::HotPages> hot_pages_;  // of its program's starts; null: nobody learns
  std::unique_ptr<Companion> companion_;
  std::uint32_t clone_function_ = 0;
  std::uint32_t clone_argument_ = 0;
  bool is_clone_ = false;
  bool unwinding_ GUARDED_BY(kernel_lock) = false;
  int handler_depth_ = 0;
  std::optional<WaitStatus> end_ GUARDED_BY(kernel_lock);
  WaitStatus status_ = WaitStatus::signaled(sigkill);  // once the program has ended
  std::optional<std::uint32_t> pending_word_;          // address of __cloche_sigpending
  std::optional<InterpreterSignals> interpreter_signals_ GUARDED_BY(kernel_lock);
  std::optional<InterpreterSignals> stand_in_ GUARDED_BY(kernel_lock);
  bool told_ GUARDED_BY(kernel_lock) = false;  // the interpreter, in this call
  bool awaits_look_ = false;  // it was told while it computed; for the guest's thread
  std::uint64_t memory_bytes_ GUARDED_BY(kernel_lock) = 0;
  Waiter waiter_ GUARDED_BY(kernel_lock);  // by the kernel's clock
  bool sleeping_ GUARDED_BY(kernel_lock) = false;
  bool stands_still_ GUARDED_BY(kernel_lock) = false;
  bool parked_ GUARDED_BY(kernel_lock) = false;
  SteadyTime parked_since_ GUARDED_BY(kernel_lock);
  bool computing_ GUARDED_BY(kernel_lock) = false;  // counts among those of the kernel
  std::atomic<bool> attention_{false};
  std::optional<int> thread_clock_
      GUARDED_BY(kernel_lock);  // CPU clock of the host thread, while it runs
  std::chrono::nanoseconds cpu_base_ GUARDED_BY(kernel_lock){0};
};

}  // namespace cloche::kernel
