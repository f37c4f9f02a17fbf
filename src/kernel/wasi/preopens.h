// SPDX-License-Identifier: Apache-2.0
// Preopened directories: how a WASI program comes by its first directories.
//
// A program gets "/" and, after it, ".": the process's working directory. They are ordinary
// descriptors, closed on exec, at the lowest free numbers from `first_fd` on, so they never collide
// with what the process inherited. A libc that looks for them asks every number from 3 up until it
// hears EBADF; the numbers below the last preopen that are something else answer fd_prestat_get
// with a type that is no directory, so that the search goes on.
//
// wasi-libc drops the leading "/" of a path and the "./" of a preopen, so it cannot tell "/etc"
// from "etc", and sends both to the preopen that came last. Therefore a path below "." that leads
// nowhere from the working directory, but does from the root, is the root's (see `path_target`). A
// program that calls chdir("/some/dir") itself sends absolute paths only; where such a one must be
// exact whatever names the working directory holds, it is given "/" alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "kernel/files/node_file.h"
#include "kernel/process/preopen_plan.h"
#include "kernel/process/process.h"
#include "kernel/time/kernel_lock.h"

namespace cloche::kernel::wasi {

class PreopenedDirectory : public NodeFile {
 public:
  // `io` is null, and `flags` are O_PATH, when the directory may not be read: paths below it still
  // work.
  PreopenedDirectory(Kernel& kernel, vfs::Node node, std::unique_ptr<vfs::NodeIo> io,
                     std::uint32_t flags, std::string name);

  // "/" or ".".
  const std::string& name() const noexcept { return name_; }
  bool is_cwd() const noexcept { return name_ == "."; }

 private:
  std::string name_;
};

// For the start of a WASI program, once its descriptors are what it inherits. EMFILE. Kernel lock
// held.
Result<void> install_preopens(Process& process, const PreopenPlan& plan) REQUIRES(kernel_lock);

// The preopen at `fd`; null when there is none.
std::shared_ptr<PreopenedDirectory> preopen_at(const Process& process, std::int32_t fd)
    REQUIRES(kernel_lock);
// The highest number that is a preopen; -1 without one.
std::int32_t last_preopen(const Process& process) REQUIRES(kernel_lock);

}  // namespace cloche::kernel::wasi
