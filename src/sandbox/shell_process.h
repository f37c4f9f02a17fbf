// SPDX-License-Identifier: Apache-2.0
// ShellProcess: a bash that stays. It runs one script after the other, each as a turn, and its
// state between two turns can be kept, and another one goes on from there (RestingShell).
//
// It is an ordinary process of its kernel: signals, limits and kill_job act on it. It has no thread
// between turns, and takes a turn on the thread of whoever asks for it. Each turn is a job of its
// own: what a script leaves in the background lives on when a later turn is killed. The guest's
// side is userland/ports/bash/kept.c.
//
// Threads: one call at a time; the process may be killed from any thread. It must be gone before
// its kernel.
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "kernel/host/host_ports.h"
#include "kernel/process/process.h"
#include "kernel/time/kernel_handle.h"
#include "kernel/time/kernel_lock.h"
#include "kernel/time/run_clock.h"
#include "wasm/memory_image.h"
#include "wasm/packed_memory.h"

namespace cloche::sandbox {

// A shell between two turns: its memory, and what its process had that a new one lacks. Files
// beyond descriptors 0 to 2 are not in it.
struct RestingShell {
  // One of the two.
  std::shared_ptr<const wasm::MemoryImage> memory;
  std::shared_ptr<const wasm::PackedImage> packed;
  // It has run nothing: whoever begins with it is a new shell.
  bool has_just_started = false;
  // The same for shells of which none has changed since the other.
  std::uint64_t version = 0;
  kernel::MemoryMap map;
  kernel::SignalState signals;
  std::uint32_t umask = 022;
  int nice = 0;
  std::array<kernel::ResourceLimit, kernel::rlimit_count> limits{};
  std::string directory;
};

// One string after the other, each with its 0; see kept.c.
struct ShellTurn {
  std::string frame;
  bool sets_variables = false;           // the frame does, to stay
  std::array<kernel::FilePtr, 3> files;  // descriptors 0, 1 and 2
};

struct ShellTurnResult {
  // The script has ended, and the shell goes on: its exit status.
  std::optional<int> exit_code;
  // Else the shell is gone: how, and whether the deadline was the reason, or an exec.
  kernel::WaitStatus status = kernel::WaitStatus::signaled(kernel::sigkill);
  kernel::JobId job = 0;  // of what the script has left in the background
  bool overdue = false;
  bool stopped = false;  // as `stop` said
  bool replaced = false;
};

class ShellProcess {
 public:
  // Where bash has to be compiled waits for that, which is no turn's time: EINTR when it was to
  // stop meanwhile. ENOENT, ENOEXEC: there is no such bash.
  static Result<void> make_ready(kernel::Kernel& kernel, const std::stop_token& stop)
      EXCLUDES(kernel::kernel_lock);
  // Null: a new shell, without variables, in `home`; so is one that begins with a shell that has
  // just started, in a place like this one. Errors are those of Kernel::spawn.
  static Result<std::unique_ptr<ShellProcess>> start(kernel::Kernel& kernel,
                                                     const std::string& home,
                                                     std::shared_ptr<const RestingShell> from)
      EXCLUDES(kernel::kernel_lock);
  // Kills the process and waits for its end.
  ~ShellProcess();
  ShellProcess(const ShellProcess&) = delete;
  ShellProcess& operator=(const ShellProcess&) = delete;

  // No limit: 0.
  ShellTurnResult run(ShellTurn turn, std::chrono::milliseconds limit, const std::stop_token& stop)
      EXCLUDES(kernel::kernel_lock);

  // It can run no more: it was killed, between turns too.
  bool gone() EXCLUDES(kernel::kernel_lock);
  // The shell after the last turn that changed it; null when there is none. Waits for the copy.
  std::shared_ptr<const RestingShell> resting() EXCLUDES(kernel::kernel_lock);
  // Of a new one, before its first turn: what others can begin with; null where there is no memory
  // for it.
  std::shared_ptr<const RestingShell> just_started() EXCLUDES(kernel::kernel_lock);

  const kernel::ProcessPtr& process() const noexcept { return process_.get(); }

 private:
  struct Shared;
  ShellProcess(kernel::Kernel& kernel, std::shared_ptr<Shared> shared, kernel::ProcessPtr process);
  void set_files(const std::array<kernel::FilePtr, 3>& files) REQUIRES(kernel::kernel_lock);
  bool is_gone() const REQUIRES(kernel::kernel_lock);
  bool is_over(const kernel::RunClock& clock) const EXCLUDES(kernel::kernel_lock);

  kernel::Kernel& kernel_;
  std::shared_ptr<Shared> shared_;
  kernel::KernelHandle<kernel::ProcessPtr> process_;
  kernel::KernelHandle<std::array<kernel::FilePtr, 3>> idle_files_;  // between turns
};

}  // namespace cloche::sandbox
