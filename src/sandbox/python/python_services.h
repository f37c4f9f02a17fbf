// SPDX-License-Identifier: Apache-2.0
// PythonServices: what the Python of one sandbox asks of the host, answered by the engine's
// packages and cache of wheels, and by the sandbox's list of shown figures.
#pragma once

#include "python/host_services.h"
#include "sandbox/python/cached_wheels.h"
#include "sandbox/python/python_parts.h"
#include "sandbox/shown_figures.h"

namespace cloche::sandbox {

class PythonServices final : public python::HostServices {
 public:
  // All of them outlive the kernel that it is given to; `cache` may be null.
  PythonServices(PythonParts& parts, packages::WheelCache* cache, ShownFigures& figures)
      : parts_(parts), wheels_(cache), figures_(figures) {}

  Result<void> change_package(vfs::Namespace& files, python::PackageChange change,
                              std::string_view name) override REQUIRES(kernel::kernel_lock) {
    return parts_.change_package(files, change, name);
  }
  Result<kernel::FilePtr> open_wheel(const python::CachedWheel& wheel,
                                     const std::shared_ptr<Owner>& owner) override
      REQUIRES(kernel::kernel_lock) {
    return wheels_.open(wheel, owner);
  }
  void show_figure(kernel::JobId job, std::string_view path) override
      REQUIRES(kernel::kernel_lock) {
    figures_.add(job, path);
  }

 private:
  PythonParts& parts_;
  CachedWheels wheels_;
  ShownFigures& figures_;
};

}  // namespace cloche::sandbox
