// SPDX-License-Identifier: Apache-2.0
// What an Engine consists of, in the order in which it is made.
#pragma once

#include <filesystem>
#include <functional>

#include "cloche/engine.h"
#include "kernel/kernel_options.h"
#include "kernel/process/program.h"
#include "kernel/time/timer_thread.h"
#include "packages/wheel_cache.h"
#include "sandbox/native/native_parts.h"
#include "sandbox/program_folder.h"
#include "sandbox/python/python_parts.h"
#include "sandbox/started_shells.h"
#include "vfs/memfs.h"
#include "wasm/engine.h"
#include "wasm/guest_threads.h"
#include "wasm/linker.h"
#include "wasm/module_store.h"

namespace cloche::sandbox {

// The options with the folders and the program that they leave to be found. Throws HostError as
// Engine does.
EngineOptions with_defaults(EngineOptions options);

// See Engine::ship.
void ship_code(const EngineOptions& options, const std::filesystem::path& folder);

class EngineState {
 public:
  explicit EngineState(EngineOptions options);

  kernel::KernelServices services() {
    return {
        wasm_,      threads_, programs_, timers_, idle_after_.count() > 0 ? &idle_timers_ : nullptr,
        idle_after_};
  }
  const vfs::Frozen& base() const noexcept { return base_; }
  PythonParts& python() noexcept { return *python_; }
  // Null: there is none.
  packages::WheelCache* wheels() noexcept { return wheels_.get(); }
  StartedShells& started_shells() noexcept { return started_shells_; }
  ProgramFolders& program_folders() noexcept { return program_folders_; }
  NativeParts& natives() noexcept { return *natives_; }

  // Throws Error for a mount by which a guest could write machine code that this machine runs, or
  // images of others.
  void need_harmless(const SandboxOptions& options) const;

  // See Engine::prepare.
  void prepare();

 private:
  EngineOptions options_;
  wasm::Engine wasm_;
  wasm::ModuleStore modules_;
  wasm::Linker linker_;
  kernel::ProgramStore programs_;
  ProgramFolders program_folders_{programs_};
  kernel::TimerThread timers_;
  const std::chrono::milliseconds idle_after_;
  kernel::TimerThread idle_timers_;
  wasm::GuestThreads threads_;
  std::unique_ptr<PythonParts> python_;
  std::unique_ptr<packages::WheelCache> wheels_;
  vfs::Frozen base_;
  std::shared_ptr<NativeParts> natives_;
  StartedShells started_shells_{*this};
};

}  // namespace cloche::sandbox
