// SPDX-License-Identifier: Apache-2.0
#include "kernel/terminals/terminal_table.h"

#include "kernel/files/devices.h"
#include "kernel/kernel.h"
#include "kernel/process/task.h"
#include "kernel/terminals/terminal.h"

namespace cloche::kernel {

TerminalTable::TerminalTable(Kernel& kernel)
    : kernel_(kernel), devpts_(vfs::make_fs<DevPts>(*this)) {}

TerminalTable::~TerminalTable() { devpts_->close(); }

Result<std::shared_ptr<Terminal>> TerminalTable::create() {
  std::uint32_t number = 0;
  while (find(number) != nullptr) ++number;
  if (number >= max_terminals) return Errno::nospc;
  auto terminal = std::make_shared<Terminal>(kernel_, number);
  terminals_[number] = terminal;
  return terminal;
}

std::shared_ptr<Terminal> TerminalTable::find(std::uint32_t number) const {
  const auto found = terminals_.find(number);
  return found == terminals_.end() ? nullptr : found->second.lock();
}

std::vector<std::uint32_t> TerminalTable::numbers() const {
  std::vector<std::uint32_t> numbers;
  for (const auto& [number, terminal] : terminals_) {
    if (!terminal.expired()) numbers.push_back(number);
  }
  return numbers;
}

FilePtr TerminalTable::open_slave(const std::shared_ptr<Terminal>& terminal,
                                  std::uint32_t flags) const {
  return std::make_shared<TerminalFile>(terminal, devpts_->slave(terminal->number()), flags);
}

Result<FilePtr> TerminalTable::open_device(Task& task, const vfs::Node& node, std::uint64_t device,
                                           std::uint32_t flags) {
  const std::uint32_t kept = flags & (o_accmode | o_nonblock | o_append | o_path);
  if (device == device::ptmx) {
    CLOCHE_ASSIGN(const std::shared_ptr<Terminal> terminal, create());
    terminal->set_locked();
    return FilePtr(std::make_shared<MasterFile>(terminal, node, kept));
  }
  Process& process = task.process();
  if (device == device::tty) {
    if (!process.session || !process.session->terminal) return Errno::nxio;
    return open_slave(process.session->terminal, kept);
  }
  if (vfs::dev_major(device) != device::pts_major) return Errno::nxio;
  const std::shared_ptr<Terminal> terminal = find(vfs::dev_minor(device));
  if (!terminal) return Errno::nxio;
  if (terminal->locked()) return Errno::io;
  if ((flags & o_noctty) == 0) terminal->offer_controlling(process);
  return open_slave(terminal, kept);
}

}  // namespace cloche::kernel
