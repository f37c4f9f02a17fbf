// SPDX-License-Identifier: Apache-2.0
// A LiveRun of a WebAssembly sandbox: the process, its ports, and a thread that sees to its end.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "cloche/live_run.h"
#include "kernel/host/host_ports.h"
#include "kernel/process/process.h"
#include "kernel/process/spawn_request.h"
#include "sandbox/backend.h"
#include "sandbox/command.h"

namespace cloche::sandbox {

class WasmLiveRun final : public LiveRunState {
 public:
  WasmLiveRun(SandboxState& state, LiveRunOptions options);
  ~WasmLiveRun() override;
  WasmLiveRun(const WasmLiveRun&) = delete;
  WasmLiveRun& operator=(const WasmLiveRun&) = delete;

  Result<std::size_t> write(std::string_view bytes) override;
  Result<void> write_all(std::string_view bytes) override;
  void close_input() override;
  void resize(const TerminalSize& size) override;
  Result<void> signal(int number) override;
  void kill() override;
  int pid() noexcept override { return process_ ? process_->pid() : 0; }
  std::optional<RunResult> wait_for(std::optional<std::chrono::milliseconds> limit) override;

 private:
  Result<kernel::ProcessPtr> start();
  Result<void> make_ports(kernel::SpawnRequest& request);
  void release_guest_ends();

  // The thread.
  void drive();
  void watch();          // until the process has ended and its output has been passed on
  void await_streams();  // until nothing holds them, or all is killed
  bool pass_on_screen(std::unique_lock<std::mutex>& lock);
  void show(std::string_view text);
  bool tell_of_room(std::unique_lock<std::mutex>& lock);
  void finish();

  // Kernel lock held.
  Result<std::size_t> take_input(std::span<const std::byte> bytes);
  bool has_room() const;
  kernel::WaitQueue& port_changed();

  SandboxState& state_;
  kernel::Kernel& kernel_;
  LiveRunOptions options_;
  const std::uint64_t cancellations_;
  const std::chrono::steady_clock::time_point begin_;
  kernel::Deadline deadline_;
  kernel::ProcessPtr process_;  // null: could not be started

  std::unique_ptr<kernel::HostTerminal> terminal_;  // or the three streams
  std::unique_ptr<kernel::HostPipe> input_;
  Outputs outputs_;
  CleanOutput screen_;

  // Under the kernel lock.
  bool input_closed_ = false;
  bool starved_ = false;  // a write was short: on_room is owed
  bool killed_ = false;
  kernel::WaitQueue killed_changed_;
  bool timed_out_ = false;
  std::uint64_t screen_bytes_ = 0;

  RunResult result_;  // the thread's, until ended_
  std::mutex end_mutex_;
  std::condition_variable end_changed_;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace cloche::sandbox
