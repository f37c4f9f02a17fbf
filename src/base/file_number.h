// SPDX-License-Identifier: Apache-2.0
// FileNumber: which file an open descriptor is of, whatever its name has become. It is that file's
// alone for as long as a descriptor of it is open.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>

namespace cloche {

struct FileNumber {
  std::uint64_t device = 0, inode = 0;
  friend bool operator==(const FileNumber&, const FileNumber&) = default;
};

// nullopt: the descriptor is none, or its file system does not answer.
inline std::optional<FileNumber> file_number(int fd) noexcept {
  struct stat of{};
  if (::fstat(fd, &of) != 0) return std::nullopt;
  return FileNumber{.device = of.st_dev, .inode = of.st_ino};
}

}  // namespace cloche
