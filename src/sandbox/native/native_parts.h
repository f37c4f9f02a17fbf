// SPDX-License-Identifier: Apache-2.0
// What all native sandboxes of an engine share: the warden that makes their boxes, the store of
// images, what freezes guests, what their Python runs, and threads.
#pragma once

#include <filesystem>

#include "base/mutex.h"
#include "base/unique_fd.h"
#include "cloche/sandbox.h"
#include "kernel/time/timer_thread.h"
#include "native/host/warden.h"
#include "native/images/image_store.h"
#include "sandbox/native/edge_watch.h"
#include "sandbox/native/freeze_programs.h"
#include "sandbox/native/fulfilled_packages.h"
#include "sandbox/native/python_programs.h"
#include "sandbox/native/python_starts.h"
#include "sandbox/native/ready_sandboxes.h"

namespace cloche::sandbox {

class NativeParts {
 public:
  explicit NativeParts(const std::filesystem::path& system_folder);

  native::Warden& warden() noexcept { return warden_; }
  images::ImageStore& images() noexcept { return images_; }
  // None where nothing can be frozen.
  const FreezePrograms& freeze_programs(Isolation isolation) const noexcept {
    return isolation == Isolation::full ? freeze_programs_ : no_freeze_programs_;
  }
  // gVisor's program, open for reading; before this process may be in a jail, where that has to be.
  // Throws HostError with a sentence where there is none.
  int runsc();
  const PythonPrograms& python_programs() const noexcept { return python_programs_; }
  kernel::TimerThread& timers() noexcept { return timers_; }
  EdgeWatch& edge_watch() noexcept { return edge_watch_; }
  FulfilledPackages& fulfilled_packages() noexcept { return fulfilled_packages_; }
  PythonStarts& python_starts() noexcept { return python_starts_; }
  ReadySandboxes& ready_sandboxes() noexcept { return ready_sandboxes_; }

 private:
  native::Warden warden_;
  images::ImageStore images_;
  FreezePrograms freeze_programs_;
  FreezePrograms no_freeze_programs_{FreezePrograms::Kind::none};
  const std::filesystem::path system_folder_;
  Mutex runsc_mutex_;
  UniqueFd runsc_ GUARDED_BY(runsc_mutex_);  // once it was wanted
  PythonPrograms python_programs_;
  kernel::TimerThread timers_;
  EdgeWatch edge_watch_;
  FulfilledPackages fulfilled_packages_;
  PythonStarts python_starts_{*this};  // whose thread ends before
  ReadySandboxes ready_sandboxes_;     // what is above
};

}  // namespace cloche::sandbox
