// SPDX-License-Identifier: Apache-2.0
// HostFiles: the calls with which this program keeps files on the host that must not be lost. One
// seam, so that a test can let any of them fail.
//
// DurableFile: a file that is there whole, or as it was before. It is written under another name,
// synced and renamed, and its folder is synced: what commit() has said survives a crash of the
// process and of the host.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>
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
  virtual Result<void> rename(const std::string& from, const std::string& to);
  virtual Result<void> unlink(const std::string& path);

  Result<void> sync_folder(const std::string& folder);
  Result<void> write_all(int fd, std::span<const std::byte> bytes);
};

// The host's own. Thread-safe, never destroyed.
HostFiles& host_files();

class DurableFile {
 public:
  // `part`: the other name, in the same folder; what is there is overwritten.
  static Result<DurableFile> create(HostFiles& files, std::string path, std::string part);
  DurableFile(DurableFile&& other) noexcept = default;
  DurableFile& operator=(DurableFile&&) = delete;
  ~DurableFile();  // without a commit nothing is left

  Result<void> write(std::span<const std::byte> bytes);
  // `before_rename` is asked once everything is on the disk, and may refuse. When the folder cannot
  // be synced the new file is there all the same, but may be the old one again after a crash.
  template <typename Check>
  Result<void> commit(const Check& before_rename) {
    CLOCHE_TRY(finish());
    CLOCHE_TRY(before_rename());
    return publish();
  }
  Result<void> commit() {
    return commit([] { return Result<void>(); });
  }

 private:
  DurableFile(HostFiles& files, std::string path, std::string part, UniqueFd fd);
  Result<void> finish();
  Result<void> publish();

  struct Names {
    std::string path;
    std::string part;
  };
  HostFiles* files_;
  std::unique_ptr<Names> names_;  // null: it has been committed, or moved away
  UniqueFd fd_;
};

}  // namespace cloche
