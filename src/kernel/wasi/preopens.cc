// SPDX-License-Identifier: Apache-2.0
#include "kernel/wasi/preopens.h"

#include <algorithm>

#include "kernel/kernel.h"
#include "vfs/checked_operations.h"

namespace cloche::kernel::wasi {
namespace {

Result<void> install(Process& process, const vfs::Node& directory, std::string name,
                     std::int32_t first_fd) REQUIRES(kernel_lock) {
  Result<std::unique_ptr<vfs::NodeIo>> io =
      vfs::open(directory, vfs::Access::read, process.credentials);
  const std::uint32_t flags = io ? o_rdonly : o_path;
  auto file = std::make_shared<PreopenedDirectory>(
      process.kernel(), directory, io ? *std::move(io) : nullptr, flags, std::move(name));
  CLOCHE_TRY(process.fds.install(std::move(file), o_cloexec, first_fd));
  return {};
}

}  // namespace

PreopenedDirectory::PreopenedDirectory(Kernel& kernel, vfs::Node node,
                                       std::unique_ptr<vfs::NodeIo> io, std::uint32_t flags,
                                       std::string name)
    : NodeFile(kernel, std::move(node), std::move(io), vfs::FileType::directory, flags),
      name_(std::move(name)) {}

Result<void> install_preopens(Process& process, const PreopenPlan& plan) {
  CLOCHE_TRY(install(process, process.kernel().files().root(), "/", plan.first_fd));
  if (plan.set == PreopenSet::root) return {};
  return install(process, process.cwd, ".", plan.first_fd);
}

std::shared_ptr<PreopenedDirectory> preopen_at(const Process& process, std::int32_t fd) {
  const Result<FilePtr> file = process.fds.get(fd);
  return file ? std::dynamic_pointer_cast<PreopenedDirectory>(*file) : nullptr;
}

std::int32_t last_preopen(const Process& process) {
  const std::vector<std::int32_t> open = process.fds.list();
  const auto last = std::find_if(
      open.rbegin(), open.rend(),
      [&](std::int32_t fd) REQUIRES(kernel_lock) { return preopen_at(process, fd) != nullptr; });
  return last == open.rend() ? -1 : *last;
}

}  // namespace cloche::kernel::wasi
