// SPDX-License-Identifier: Apache-2.0
// TerminalTable: the pseudo terminals of one kernel, and what opening a terminal device does.
// Kernel lock held.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/result.h"
#include "kernel/files/file.h"
#include "kernel/terminals/devpts.h"
#include "kernel/time/kernel_lock.h"

namespace cloche::kernel {

class Kernel;
class Process;
class Task;
class Terminal;

class TerminalTable {
 public:
  static constexpr std::uint32_t max_terminals = 64;

  explicit TerminalTable(Kernel& kernel);
  ~TerminalTable();
  TerminalTable(const TerminalTable&) = delete;
  TerminalTable& operator=(const TerminalTable&) = delete;

  // A new terminal without any file; ENOSPC at the limit. It ends with the last reference.
  Result<std::shared_ptr<Terminal>> create();
  std::shared_ptr<Terminal> find(std::uint32_t number) const;
  std::vector<std::uint32_t> numbers() const;  // ascending

  // Opens a character device of ours: /dev/ptmx makes a new terminal (locked, for unlockpt) and
  // opens its master, /dev/tty is the controlling terminal of the process (ENXIO without one),
  // /dev/pts/N a slave (EIO while locked), which becomes the controlling terminal of a session
  // leader that has none, unless O_NOCTTY. ENXIO for any other device. `node`: what was opened.
  Result<FilePtr> open_device(Task& task, const vfs::Node& node, std::uint64_t device,
                              std::uint32_t flags) REQUIRES(kernel_lock);
  // The slave of a terminal, without the controlling business.
  FilePtr open_slave(const std::shared_ptr<Terminal>& terminal, std::uint32_t flags) const;

  // To be mounted at /dev/pts.
  vfs::FsRef file_system() const { return devpts_; }

 private:
  Kernel& kernel_;
  std::map<std::uint32_t, std::weak_ptr<Terminal>> terminals_;
  vfs::TypedFsRef<DevPts> devpts_;
};

}  // namespace cloche::kernel
