// SPDX-License-Identifier: Apache-2.0
#include "kernel/files/fd_table.h"

#include <algorithm>

namespace cloche::kernel {

bool FdTable::open_at(std::int32_t fd) const noexcept {
  return fd >= 0 && static_cast<std::size_t>(fd) < slots_.size() &&
         slots_[static_cast<std::size_t>(fd)].file;
}

Result<FilePtr> FdTable::get(std::int32_t fd) const {
  if (!open_at(fd)) return Errno::badf;
  return slots_[static_cast<std::size_t>(fd)].file;
}

Result<FilePtr> FdTable::get_readable(std::int32_t fd) const {
  CLOCHE_ASSIGN(FilePtr file, get(fd));
  if (!file->readable()) return Errno::badf;
  return file;
}

Result<FilePtr> FdTable::get_writable(std::int32_t fd) const {
  CLOCHE_ASSIGN(FilePtr file, get(fd));
  if (!file->writable()) return Errno::badf;
  return file;
}

Result<std::int32_t> FdTable::install(FilePtr file, std::uint32_t flags, std::int32_t lowest) {
  if (lowest < 0) return Errno::inval;
  auto at = static_cast<std::size_t>(lowest);
  while (at < slots_.size() && slots_[at].file) ++at;
  if (at >= limit_) return Errno::mfile;
  if (at >= slots_.size()) slots_.resize(at + 1);
  slots_[at] = Slot{std::move(file), (flags & o_cloexec) != 0};
  return static_cast<std::int32_t>(at);
}

Result<void> FdTable::install_at(std::int32_t fd, FilePtr file, std::uint32_t flags) {
  if (fd < 0 || static_cast<std::uint32_t>(fd) >= limit_) return Errno::badf;
  const auto at = static_cast<std::size_t>(fd);
  if (at >= slots_.size()) slots_.resize(at + 1);
  // The old description is dropped last: its destructor may look at this table through the process.
  const FilePtr old = std::exchange(slots_[at].file, std::move(file));
  slots_[at].close_on_exec = (flags & o_cloexec) != 0;
  return {};
}

Result<void> FdTable::close(std::int32_t fd) {
  if (!open_at(fd)) return Errno::badf;
  const FilePtr old = std::exchange(slots_[static_cast<std::size_t>(fd)].file, nullptr);
  return {};
}

void FdTable::close_range(std::uint32_t first, std::uint32_t last) {
  for (std::size_t fd = first; fd < slots_.size() && fd <= last; ++fd) slots_[fd].file.reset();
}

void FdTable::set_close_on_exec_range(std::uint32_t first, std::uint32_t last) {
  for (std::size_t fd = first; fd < slots_.size() && fd <= last; ++fd)
    slots_[fd].close_on_exec = true;
}

void FdTable::close_for_exec() {
  for (Slot& slot : slots_) {
    if (slot.close_on_exec) slot = Slot{};
  }
}

void FdTable::close_all() { const std::vector<Slot> old = std::exchange(slots_, {}); }

Result<bool> FdTable::close_on_exec(std::int32_t fd) const {
  if (!open_at(fd)) return Errno::badf;
  return bool{slots_[static_cast<std::size_t>(fd)].close_on_exec};
}

Result<void> FdTable::set_close_on_exec(std::int32_t fd, std::uint32_t cloexec_flag) {
  if (!open_at(fd)) return Errno::badf;
  slots_[static_cast<std::size_t>(fd)].close_on_exec = cloexec_flag == o_cloexec;
  return {};
}

std::vector<std::int32_t> FdTable::list() const {
  std::vector<std::int32_t> open;
  for (std::size_t fd = 0; fd < slots_.size(); ++fd) {
    if (slots_[fd].file) open.push_back(static_cast<std::int32_t>(fd));
  }
  return open;
}

}  // namespace cloche::kernel
