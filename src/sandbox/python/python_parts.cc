// SPDX-License-Identifier: Apache-2.0
#include "sandbox/python/python_parts.h"

#include "base/host_error.h"
#include "sandbox/base_layer.h"

namespace cloche::sandbox {

PythonParts::PythonParts(kernel::KernelServices services, const EngineOptions& options,
                         vfs::BaseBuilder& builder)
    : package_images_(options.package_images) {
  const std::filesystem::path bundle = options.system_folder / "python.bundle";
  const std::filesystem::path guest = options.system_folder / "python.wasm";
  if (!std::filesystem::exists(bundle) || !std::filesystem::exists(guest)) return;
  registry_ = std::make_unique<packages::PackageRegistry>(bundle);
  registry_->add_library(builder);
  python::PythonRuntime::Options runtime;
  runtime.guest_file = guest;
  if (!options.cache_folder.empty()) runtime.cache_folder = options.cache_folder / "images";
  runtime.library_id = registry_->bundle().id();
  runtime.progress = options.progress;
  runtime.preload = [this](vfs::Namespace& files) {
    return preload_of(static_cast<vfs::MemFs&>(files.root().fs()));
  };
  runtime.install = [this](vfs::MemFs& files, const std::vector<std::string>& names) {
    return install(files, names);
  };
  runtime_ = std::make_unique<python::PythonRuntime>(services, std::move(runtime),
                                                     interruption_of(SystemCode::interpreter));
  runtime_->add_program(builder);
}

void PythonParts::set_base(const vfs::Frozen& base) {
  if (runtime_) runtime_->set_base(base);
}

void PythonParts::prepare() {
  if (runtime_) (void)runtime_->prepare({});
}

void PythonParts::prepare(vfs::MemFs& files) {
  if (!runtime_) return;
  const python::Preload preload = preload_of(files);
  if (preload.empty()) return;
  if (package_images_ == PackageImages::behind) return runtime_->prepare_behind(preload);
  (void)runtime_->prepare(preload);
}

python::Preload PythonParts::preload_of(vfs::MemFs& files) const {
  python::Preload preload;
  for (const packages::BundledPackage* package : registry_->installed(files)) {
    if (!package->preload.empty() && !preload.empty()) preload.modules += ' ';
    preload.modules += package->preload;
    preload.packages.push_back(package->name);
  }
  return preload;
}

std::vector<std::string> PythonParts::installed(vfs::MemFs& files) const {
  return registry_ ? preload_of(files).packages : std::vector<std::string>();
}

Result<void, Error> PythonParts::install(vfs::MemFs& files, const std::vector<std::string>& names) {
  if (names.empty()) return {};
  if (!registry_) {
    return HostError("This system has no Python, so it has no packages: run `make` to build it.",
                     Errno::noent);
  }
  CLOCHE_ASSIGN(const auto packages, registry_->resolve(names));
  const Result<void> installed = registry_->install(files, packages);
  if (installed) return {};
  return Error(
      ErrorKind::sandbox, installed.error(),
      "the packages cannot be installed: " + std::string(errno_info(installed.error()).message));
}

Result<void> PythonParts::change_package(vfs::Namespace& files, python::PackageChange change,
                                         std::string_view name) {
  const packages::BundledPackage* package = registry_ ? registry_->find(name) : nullptr;
  if (package == nullptr) return Errno::noent;
  auto& root = static_cast<vfs::MemFs&>(files.root().fs());
  if (change == python::PackageChange::uninstall) return registry_->uninstall(root, *package);
  return registry_->install(root, std::span(&package, 1));
}

}  // namespace cloche::sandbox
