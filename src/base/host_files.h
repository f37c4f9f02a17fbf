// SPDX-License-Identifier: Apache-2.0
// HostFiles: the calls with which this program keeps files on the host that must not be lost. One
// seam, so that a test can let any of them fail.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <span>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cloche {

class HostFiles {
 public:
  HostFiles() = default;
  HostFiles(const HostFiles&) = delete;
  HostFiles& operator=(const HostFiles&) = delete;
  virtual ~HostFiles() = default;

  // As the calls of these names, close-on-exec, and again when a signal interrupts. A full disk or
  // quota is ENOSPC, also where the host calls it EDQUOT or EFBIG.
  virtual Result<UniqueFd> open(const std::string& path, int flags, unsigned mode);
  virtual Result<std::size_t> write(int fd, std::span<const std::byte> bytes);  // 1 at least
  virtual Result<std::size_t> read_at(int fd, std::uint64_t offset, std::span<std::byte> to);
  virtual Result<void> sync(int fd);
  // Gives a file that has no name that one, which nothing may have.
  virtual Result<void> link(int fd, const std::string& path);
  virtual Result<void> rename(const std::string& from, const std::string& to);
  virtual Result<void> unlink(const std::string& path);

  Result<void> sync_folder(const std::string& folder);
  Result<void> write_all(int fd, std::span<const std::byte> bytes);

  static std::string folder_of(const std::string& path);
};

// The host's own. Thread-safe, never destroyed.
HostFiles& host_files();

}  // namespace cloche
