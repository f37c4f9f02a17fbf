// SPDX-License-Identifier: Apache-2.0
// HostServices: what the host does for the Python of a sandbox that is no system call: packages of
// the build, the cache of wheels, figures that are shown. The requests come from our modules in the
// guest (own_requests.h), the answers from what the sandbox is made of, which the layer above
// knows: it implements this, and gives it to the sandbox's kernel (KernelOptions::extension). A
// kernel without it, such as one that makes a boot image, has no packages, no cache, and nobody who
// looks at figures.
//
// Every function is called by the thread of the process that asks, with that kernel's lock held:
// two of one kernel never run at once, and none may wait. What one throws becomes an errno of the
// guest's (enter_kernel). Names, addresses and paths are the guest's words, bounded in length and
// otherwise unchecked.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kernel/files/file.h"
#include "kernel/kernel_options.h"
#include "kernel/process/process.h"
#include "kernel/time/kernel_lock.h"
#include "vfs/namespace.h"

namespace cloche::python {

enum class PackageChange : std::uint8_t { install, uninstall };

// A file of a package index, which the host's cache is asked for, or asked to keep.
struct CachedWheel {
  std::string origin;   // whom it comes from: Outbound::origin of an open connection
  std::string address;  // its own there, as the guest says
  std::array<std::uint8_t, 32> sha256{};
  std::uint64_t bytes_to_keep = 0;  // 0: it is asked for
};

class HostServices : public kernel::KernelExtension {
 public:
  // Those that this kernel was given; null: none.
  static HostServices* of(const kernel::Kernel& kernel) noexcept;

  // Links a package of the build into these files, the kernel's, or takes it away. ENOENT: none has
  // that name. ENOSPC: the sandbox's quota has no room.
  virtual Result<void> change_package(vfs::Namespace& files, PackageChange change,
                                      std::string_view name) REQUIRES(kernel::kernel_lock) = 0;

  // A file of the host's cache of wheels: open to read where it is asked for, to write where it
  // would be kept. ENOENT: it is not there, or would not be kept. A descriptor of the host that it
  // holds is `owner`'s; null: nobody's.
  virtual Result<kernel::FilePtr> open_wheel(const CachedWheel& wheel,
                                             const std::shared_ptr<Owner>& owner)
      REQUIRES(kernel::kernel_lock) = 0;

  // A program of this job has shown a figure, and it is in that file.
  virtual void show_figure(kernel::JobId job, std::string_view path)
      REQUIRES(kernel::kernel_lock) = 0;
};

}  // namespace cloche::python
