// SPDX-License-Identifier: Apache-2.0
// FaultyFiles: the host's files; what changes something is counted, and one of these calls, or all
// of them, can fail. Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>

#include "base/host_files.h"

namespace cloche {

class FaultyFiles final : public HostFiles {
 public:
  enum class Fault : std::uint8_t {
    error,  // that call, with `error`
    crash,  // that call and all that follow: nothing more reaches the disk
  };
  void fail_at(std::size_t call, Fault fault, Errno error = Errno::io);
  // From now on.
  void fail_all(Errno error);
  void heal();
  std::size_t calls() const;
  // Pieces of a write that are taken at once.
  std::atomic<std::size_t> write_max = SIZE_MAX;
  // As a file system that has no files without a name.
  std::atomic<bool> wants_names = false;
  // Whether something was named before it was synced, or its folder was not synced after that.
  bool is_order_broken() const;

  Result<UniqueFd> open(const std::string& path, int flags, unsigned mode) override;
  Result<std::size_t> write(int fd, std::span<const std::byte> bytes) override;
  Result<void> sync(int fd) override;
  Result<void> link(int fd, const std::string& path) override;
  Result<void> rename(const std::string& from, const std::string& to) override;
  Result<void> unlink(const std::string& path) override;

 private:
  Result<void> count();
  static std::string path_of(int fd);

  mutable std::mutex mutex_;
  std::size_t calls_ = 0;
  std::size_t fail_at_ = SIZE_MAX;
  Fault fault_ = Fault::error;
  Errno error_ = Errno::io;
  bool failing_ = false;
  bool order_broken_ = false;
  std::set<std::string> unsynced_files_;
  std::set<std::string> unsynced_folders_;
};

}  // namespace cloche
