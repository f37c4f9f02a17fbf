// SPDX-License-Identifier: Apache-2.0
// OpenFile: a file of a sandbox that the host has open, to read and write parts of it. It stays the
// same file when it is renamed or removed meanwhile.
//
// Thread-safe. Lifetime: it must be gone before its Sandbox. Errors are the Errnos of the system
// calls of the same meaning.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "cloche/files.h"

namespace cloche {

namespace sandbox {
class OpenFileBackend;
}

// As for open(2).
struct OpenMode {
  bool read = false;
  bool write = false;
  bool create = false;
  bool exclusive = false;  // with create: EEXIST when it is there
  bool truncate = false;
  std::uint32_t mode = 0644;  // of a new file
};

class OpenFile {
 public:
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  // Up to `size_bytes` from `offset`; fewer where the file ends.
  Result<std::string> read(std::uint64_t offset, std::size_t size_bytes);
  // All of it, or an error; on ENOSPC what fitted is there.
  Result<void> write(std::uint64_t offset, std::string_view data);
  Result<void> append(std::string_view data);
  Result<void> truncate(std::uint64_t size_bytes);
  Result<void> change_mode(std::uint32_t mode);
  Result<void> set_times(std::int64_t accessed_ns, std::int64_t modified_ns);
  Result<FileInfo> stat();

 private:
  friend class Files;
  explicit OpenFile(std::unique_ptr<sandbox::OpenFileBackend> file);
  std::unique_ptr<sandbox::OpenFileBackend> file_;
};

}  // namespace cloche
