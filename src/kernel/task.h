// Task: executes one process on one thread of the host, from its start through every exec to its end.
//
// The thread runs guest code without the kernel lock; a system call takes the lock, and sleeps through block(), which
// releases it. Signals, kill and deadlines wake every block().
#pragma once

#include <atomic>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>

#include "base/result.h"
#include "kernel/process.h"
#include "kernel/program.h"
#include "wasm/instance.h"

namespace cloche::kernel {

class Kernel;

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

  // The thread's body: returns when the process has ended. No lock held.
  void run() noexcept;

  Kernel& kernel() const noexcept { return kernel_; }
  // The process on which system calls act: the owner, or its vfork child until that execs or exits.
  Process& process() const noexcept { return vfork_child_ ? *vfork_child_ : *owner_; }
  Process& owner() const noexcept { return *owner_; }
  const Program& program() const noexcept { return *program_; }
  wasm::Instance& instance() noexcept { return *instance_; }

  // --- Called with the kernel lock held, by the task's own thread -----------------------------------------------

  // Sleeps until one of `queues` is woken (look at your condition again), or the deadline: Errno::timedout. Stops and continues
  // happen inside. Errno::restart: a signal wants to be handled, or the process is to die: return it (calls that Linux never
  // restarts, see signal(7), turn it to Errno::intr).
  Result<void> block(std::initializer_list<WaitQueue*> queues, Deadline deadline = std::nullopt) {
    return block(std::span<WaitQueue* const>(queues.begin(), queues.size()), deadline);
  }
  Result<void> block(std::span<WaitQueue* const> queues, Deadline deadline);

  // Looks at the pending signals: default actions happen here (a stop sleeps here). True when a handler is to run, or the
  // task is to unwind.
  bool attend();
  // The guest is to leave its code: exit, a fatal signal, a kill, or an exec that succeeded.
  bool unwinding() const noexcept { return unwinding_; }

  // exit_group: ends the acting process; for a vfork child the caller goes on as the parent, and this returns the child's pid.
  std::optional<Pid> exit(WaitStatus status);
  // execve after the program is loaded. Pid of the child in the vfork state, else nothing (and the task unwinds).
  std::optional<Pid> exec(std::shared_ptr<const Program> program);
  Result<void> vfork_begin();
  // linux.clone. Releases the lock while memory is copied.
  Result<Pid> clone(std::uint32_t function, std::uint32_t argument, std::uint32_t flags);

  std::chrono::nanoseconds cpu_time() const;

  // --- Called with the kernel lock held, by any thread ------------------------------------------------------------

  // Signals of the process changed: wakes a sleeper, interrupts a guest that computes.
  void notice() noexcept;

  // --- Called without the lock, by wasm callbacks on the task's thread -------------------------------------------

  // The engine's epoch: true when the guest is to unwind.
  bool on_epoch() noexcept;
  // Runs in every host call before it returns to the guest: sets the guest's pending word, cheap when nothing is pending.
  bool attention() const noexcept { return attention_.load(std::memory_order_acquire); }
  static Task& of(void* instance_owner) noexcept { return *static_cast<Task*>(instance_owner); }

 private:
  friend class Kernel;
  void start_instance();
  void end_process(WaitStatus status) noexcept;
  void stop_here(int signo);
  void refresh_attention() noexcept;

  Kernel& kernel_;
  ProcessPtr owner_;
  ProcessPtr vfork_child_;
  std::shared_ptr<const Program> program_;
  std::shared_ptr<const Program> next_program_;  // set by exec
  std::unique_ptr<wasm::Instance> instance_;
  std::uint32_t clone_function_ = 0;
  std::uint32_t clone_argument_ = 0;
  bool is_clone_ = false;
  bool unwinding_ = false;
  bool in_handler_call_ = false;
  std::optional<WaitStatus> end_;
  Waiter waiter_;
  bool sleeping_ = false;
  std::atomic<bool> attention_{false};
  std::optional<std::int64_t> thread_clock_;  // clockid of the host thread while it runs
};

}  // namespace cloche::kernel
