// SPDX-License-Identifier: Apache-2.0
// Commands of the host as processes of our own kernel, and their files in its file system.
#pragma once

#include "kernel/host/host_process.h"
#include "sandbox/host_commands.h"
#include "vfs/path_operations.h"

namespace cloche::sandbox {

// KernelOptions::host_program.
int run_command(HostCommands& commands, kernel::HostProcess& process) noexcept;

// `files` acts as root, under the kernel lock.
class WasmCommandFiles final : public CommandFiles {
 public:
  explicit WasmCommandFiles(vfs::PathOperations& files) : files_(files) {}

  bool has(std::string_view path) override;
  std::string head(std::string_view path, std::size_t size_bytes) override;
  Result<void> write(std::string_view path, std::string_view content) override;
  void remove(std::string_view path) override;

 private:
  vfs::PathOperations& files_;
};

}  // namespace cloche::sandbox
