// SPDX-License-Identifier: Apache-2.0
// The Python of an engine: the interpreter as a program, its library, the packages. A system
// without a bundle has none of it.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cloche/engine.h"
#include "kernel/kernel_options.h"
#include "packages/package_registry.h"
#include "python/host_services.h"
#include "python/python_runtime.h"
#include "vfs/base_builder.h"
#include "vfs/namespace.h"

namespace cloche::sandbox {

class PythonParts {
 public:
  // Adds /usr/bin/python3 and /usr/lib/python3.15 to the system when its folder has python.bundle
  // and python.wasm. Throws HostError when one of them is damaged.
  PythonParts(kernel::KernelServices services, const EngineOptions& options,
              vfs::BaseBuilder& builder);
  PythonParts(const PythonParts&) = delete;
  PythonParts& operator=(const PythonParts&) = delete;

  void set_base(const vfs::Frozen& base);
  // The boot image, made when it is not there yet.
  void prepare();
  // The same with the modules of the packages that are installed there, before a kernel has the
  // files; now or behind the caller's back, as EngineOptions::package_images says.
  void prepare(vfs::MemFs& files);

  // Packages with what they depend on, into a sandbox's files. Kernel lock held.
  Result<void, Error> install(vfs::MemFs& files, const std::vector<std::string>& names);

  // Names of the packages that are there. Kernel lock held.
  std::vector<std::string> installed(vfs::MemFs& files) const;

  // What pip in a sandbox asks for: one package, without what it depends on. Kernel lock held.
  Result<void> change_package(vfs::Namespace& files, python::PackageChange change,
                              std::string_view name);

  // Null in a system without Python.
  packages::PackageRegistry* registry() noexcept { return registry_.get(); }
  python::PythonRuntime* runtime() noexcept { return runtime_.get(); }

 private:
  python::Preload preload_of(vfs::MemFs& files) const;

  const PackageImages package_images_;
  std::unique_ptr<packages::PackageRegistry> registry_;
  std::unique_ptr<python::PythonRuntime> runtime_;
};

}  // namespace cloche::sandbox
