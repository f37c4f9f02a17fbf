// SPDX-License-Identifier: Apache-2.0
// The interpreter of a session as a process of the sandbox's kernel: the port to it, its output.
#pragma once

#include <filesystem>
#include <memory>

#include "base/mutex.h"
#include "kernel/time/kernel_handle.h"
#include "kernel/time/kernel_lock.h"
#include "python/session_port.h"
#include "sandbox/python/session_interpreter.h"
#include "sandbox/sandbox_state.h"

namespace cloche::sandbox {

class WasmInterpreter final : public SessionInterpreter {
 public:
  // `image`: a file to start from; empty: as the sandbox does.
  WasmInterpreter(SandboxState& state, std::filesystem::path image);
  ~WasmInterpreter() override;
  WasmInterpreter(const WasmInterpreter&) = delete;
  WasmInterpreter& operator=(const WasmInterpreter&) = delete;

  void listen(Listener listener) override { listener_ = std::move(listener); }
  bool is_there() const override { return interpreter_ != nullptr; }
  Result<Began, Error> start() override;
  void drop() override EXCLUDES(kernel::kernel_lock);
  void begin_output(Stream stream, python::SessionOutput::Plan plan) override;
  python::SessionOutput::Written take_output(Stream stream) override;
  CleanOutput clean_output() const override;
  python::TurnResult take(python::Turn what, std::string_view payload,
                          const python::TurnLimits& limits) override;
  void stop(python::StopReason reason) override EXCLUDES(interpreter_mutex_);
  void acknowledge_stop() override EXCLUDES(interpreter_mutex_);
  void repeat_stop() override EXCLUDES(interpreter_mutex_);
  void reply(std::uint32_t number, python::HostReply kind, std::string_view payload) override;
  Result<std::unique_ptr<SessionInterpreter>> fork(Backend& twin) override;
  void save_image(const std::filesystem::path& file, CheckpointFile kind,
                  const CheckpointLimits& limits) override;
  void load_image(const std::filesystem::path& file) override;
  kernel::TimerThread& timers() noexcept override;

 private:
  python::SessionOptions session_options() EXCLUDES(kernel::kernel_lock);
  // Null: from the boot image. In that folder where there is one, otherwise at home.
  Result<void, Error> start_from(std::shared_ptr<python::OwnImage> image,
                                 const std::string& folder = {});
  python::PythonRuntime& runtime() const;
  python::SessionOutput& output_of(Stream stream) const;
  std::uint64_t stops() const EXCLUDES(interpreter_mutex_);

  SandboxState& state_;
  const std::filesystem::path image_file_;
  Listener listener_;

  kernel::KernelHandle<std::shared_ptr<python::SessionPort>> port_;
  kernel::KernelHandle<std::shared_ptr<python::SessionOutput>> out_;
  kernel::KernelHandle<std::shared_ptr<python::SessionOutput>> err_;
  // Held to change the pointer, and to follow it by a thread that has not the call: stop().
  mutable Mutex interpreter_mutex_;
  std::unique_ptr<python::PythonSession> interpreter_;
  std::uint64_t stops_ GUARDED_BY(interpreter_mutex_) = 0;  // how often somebody has asked
};

}  // namespace cloche::sandbox
