// SPDX-License-Identifier: Apache-2.0
// The descriptors of a terminal: TerminalFile and MasterFile.
#include <fmt/format.h>

#include "kernel/process/task.h"
#include "kernel/process/turns.h"
#include "kernel/terminals/terminal.h"

namespace cloche::kernel {

TerminalFile::TerminalFile(std::shared_ptr<Terminal> terminal, vfs::Node node,
                           std::uint32_t open_flags)
    : File(open_flags),
      terminal_(std::move(terminal)),
      node_(std::move(node)),
      hangups_at_open_(terminal_->hangups()) {
  terminal_->slave_opened();
}

TerminalFile::~TerminalFile() { terminal_->slave_closed(); }

Result<std::size_t> TerminalFile::read(Task& task, std::span<std::byte> to) {
  if (hung_up() || to.empty()) return std::size_t{0};
  return terminal_->read(task, to, *this);
}

Result<std::size_t> TerminalFile::write(Task& task, std::span<const std::byte> from) {
  if (hung_up()) return Errno::io;
  return terminal_->write(task, from, *this);
}

PollEvents TerminalFile::poll() {
  if (hung_up()) return pollin | pollout | pollerr | pollhup | pollrdnorm | pollwrnorm;
  return terminal_->poll_slave();
}

Result<std::int32_t> TerminalFile::ioctl(Task& task, wasm::GuestMemory& memory,
                                         std::uint32_t request, std::uint32_t argument) {
  if (hung_up()) return Errno::io;
  return terminal_->ioctl(task, memory, request, argument, Terminal::Side::slave);
}

std::string TerminalFile::description() const {
  return fmt::format("/dev/pts/{}", terminal_->number());
}

MasterFile::MasterFile(std::shared_ptr<Terminal> terminal, vfs::Node node, std::uint32_t open_flags)
    : File(open_flags), terminal_(std::move(terminal)), node_(std::move(node)) {}

MasterFile::~MasterFile() { terminal_->master_closed(); }

Result<std::size_t> MasterFile::read(Task& task, std::span<std::byte> to) {
  for (;;) {
    Result<std::size_t> done = terminal_->take_screen(to);
    if (done || done.error() != Errno::again || nonblocking()) return done;
    CLOCHE_TRY(task.block({&terminal_->master_changed}));
  }
}

Result<std::size_t> MasterFile::write(Task& task, std::span<const std::byte> from) {
  std::size_t written = 0;
  Turns turns(task);
  while (written < from.size()) {
    const Result<std::size_t> done = terminal_->type(from.subspan(written));
    if (done) {
      written += *done;
      if (!turns.go_on()) return written;
      continue;
    }
    Errno error = done.error();
    if (error == Errno::again && !nonblocking()) {
      const Result<void> slept = task.block({&terminal_->master_changed});
      if (slept) continue;
      error = slept.error();
    }
    if (written != 0) return written;
    return error;
  }
  return written;
}

Result<std::int32_t> MasterFile::ioctl(Task& task, wasm::GuestMemory& memory, std::uint32_t request,
                                       std::uint32_t argument) {
  return terminal_->ioctl(task, memory, request, argument, Terminal::Side::master);
}

Result<vfs::Stat> MasterFile::stat() { return node_.stat(); }

}  // namespace cloche::kernel
