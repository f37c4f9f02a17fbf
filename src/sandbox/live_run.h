// SPDX-License-Identifier: Apache-2.0
// A LiveRun of a WebAssembly sandbox: the process, its ports, and a thread that sees to its end.
#pragma once

#include <latch>
#include <memory>
#include <optional>
#include <thread>

#include "base/mutex.h"
#include "cloche/live_run.h"
#include "kernel/host/host_ports.h"
#include "kernel/process/process.h"
#include "kernel/process/spawn_request.h"
#include "kernel/time/kernel_handle.h"
#include "kernel/time/kernel_lock.h"
#include "kernel/time/run_clock.h"
#include "sandbox/backend.h"
#include "sandbox/command.h"

namespace cloche::sandbox {

class WasmLiveRun final : public LiveRunState {
 public:
  // Throws HostError where the host gives no thread: nothing was started then.
  WasmLiveRun(SandboxState& state, LiveRunOptions options);
  ~WasmLiveRun() override;
  WasmLiveRun(const WasmLiveRun&) = delete;
  WasmLiveRun& operator=(const WasmLiveRun&) = delete;

  Result<std::size_t> write(std::string_view bytes) override EXCLUDES(kernel::kernel_lock);
  Result<void> write_all(std::string_view bytes) override;
  void close_input() override EXCLUDES(kernel::kernel_lock);
  void resize(const TerminalSize& size) override;
  Result<void> signal(int number) override EXCLUDES(kernel::kernel_lock);
  void kill() override EXCLUDES(kernel::kernel_lock);
  int pid() noexcept override { return process_ ? process_->pid() : 0; }
  std::optional<RunResult> wait_for(std::optional<std::chrono::milliseconds> limit) override;

 private:
  void begin() EXCLUDES(kernel::kernel_lock);
  Result<kernel::ProcessPtr> start();
  Result<void> make_terminal() EXCLUDES(kernel::kernel_lock);
  Result<void> make_ports(kernel::SpawnRequest& request) EXCLUDES(kernel::kernel_lock);
  void release_guest_ends();

  // The thread.
  void drive();
  void watch() EXCLUDES(
      kernel::kernel_lock);  // until the process has ended and its output has been passed on
  void await_streams() EXCLUDES(kernel::kernel_lock);  // until nothing holds them, or all is killed
  bool pass_on_screen() REQUIRES(kernel::kernel_lock);
  void show(std::string_view text);
  bool tell_of_room() REQUIRES(kernel::kernel_lock);
  void finish();

  Result<std::size_t> take_input(std::span<const std::byte> bytes) REQUIRES(kernel::kernel_lock);
  void pass_on_typed() REQUIRES(kernel::kernel_lock);
  bool has_room() const REQUIRES(kernel::kernel_lock);
  kernel::WaitQueue& port_changed() REQUIRES(kernel::kernel_lock);

  SandboxState& state_;
  kernel::Kernel& kernel_;
  LiveRunOptions options_;
  const std::uint64_t cancellations_;
  const std::chrono::steady_clock::time_point begin_;
  const std::shared_ptr<kernel::RunClock> clock_;
  kernel::KernelHandle<kernel::ProcessPtr> process_;  // null: could not be started

  std::unique_ptr<kernel::HostTerminal> terminal_;  // or the three streams
  std::unique_ptr<kernel::HostPipe> input_;
  Outputs outputs_;
  CleanOutput screen_;

  bool input_closed_ GUARDED_BY(kernel::kernel_lock) = false;
  bool starved_ GUARDED_BY(kernel::kernel_lock) = false;  // a write was short: on_room is owed
  std::string typed_ GUARDED_BY(kernel::kernel_lock);     // what goes before the rest
  bool killed_ GUARDED_BY(kernel::kernel_lock) = false;
  kernel::WaitQueue killed_changed_ GUARDED_BY(kernel::kernel_lock);
  bool timed_out_ GUARDED_BY(kernel::kernel_lock) = false;

  RunResult result_;  // the thread's, until ended_
  Mutex end_mutex_;
  Condition end_changed_;
  bool ended_ GUARDED_BY(end_mutex_) = false;
  std::latch begun_{1};     // what the thread waits for
  bool abandoned_ = false;  // before that: there is nothing to see to
  std::thread thread_;
};

}  // namespace cloche::sandbox
