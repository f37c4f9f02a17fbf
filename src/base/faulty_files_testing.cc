// SPDX-License-Identifier: Apache-2.0
#include "base/faulty_files_testing.h"

#include <fcntl.h>

#include <algorithm>
#include <filesystem>

namespace cloche {

void FaultyFiles::fail_at(std::size_t call, Fault fault, Errno error) {
  const std::lock_guard lock(mutex_);
  calls_ = 0;
  fail_at_ = call;
  fault_ = fault;
  error_ = error;
}

void FaultyFiles::fail_all(Errno error) {
  const std::lock_guard lock(mutex_);
  failing_ = true;
  error_ = error;
}

void FaultyFiles::heal() {
  const std::lock_guard lock(mutex_);
  failing_ = false;
  fail_at_ = SIZE_MAX;
}

std::size_t FaultyFiles::calls() const {
  const std::lock_guard lock(mutex_);
  return calls_;
}

bool FaultyFiles::is_order_broken() const {
  const std::lock_guard lock(mutex_);
  return order_broken_ || !unsynced_folders_.empty();
}

Result<void> FaultyFiles::count() {
  const std::lock_guard lock(mutex_);
  if (calls_++ == fail_at_) {
    if (fault_ == Fault::crash) failing_ = true;
    return error_;
  }
  if (failing_) return error_;
  return {};
}

std::string FaultyFiles::path_of(int fd) {
  return std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd)).string();
}

Result<UniqueFd> FaultyFiles::open(const std::string& path, int flags, unsigned mode) {
  const bool has_no_name = (flags & O_TMPFILE) == O_TMPFILE;
  if (has_no_name && wants_names) return Errno::notsup;
  if ((flags & O_CREAT) != 0 || has_no_name) CLOCHE_TRY(count());
  return HostFiles::open(path, flags, mode);
}

Result<std::size_t> FaultyFiles::write(int fd, std::span<const std::byte> bytes) {
  CLOCHE_TRY(count());
  {
    const std::lock_guard lock(mutex_);
    unsynced_files_.insert(path_of(fd));
  }
  return HostFiles::write(fd, bytes.first(std::min<std::size_t>(bytes.size(), write_max)));
}

Result<void> FaultyFiles::sync(int fd) {
  CLOCHE_TRY(count());
  {
    const std::lock_guard lock(mutex_);
    unsynced_files_.erase(path_of(fd));
    unsynced_folders_.erase(path_of(fd));
  }
  return HostFiles::sync(fd);
}

Result<void> FaultyFiles::link(int fd, const std::string& path) {
  CLOCHE_TRY(count());
  {
    const std::lock_guard lock(mutex_);
    order_broken_ = order_broken_ || unsynced_files_.contains(path_of(fd));
    unsynced_folders_.insert(std::filesystem::path(path).parent_path().string());
  }
  return HostFiles::link(fd, path);
}

Result<void> FaultyFiles::rename(const std::string& from, const std::string& to) {
  CLOCHE_TRY(count());
  {
    const std::lock_guard lock(mutex_);
    order_broken_ = order_broken_ || unsynced_files_.contains(from);
    unsynced_folders_.insert(std::filesystem::path(to).parent_path().string());
  }
  return HostFiles::rename(from, to);
}

Result<void> FaultyFiles::unlink(const std::string& path) {
  CLOCHE_TRY(count());
  return HostFiles::unlink(path);
}

}  // namespace cloche
