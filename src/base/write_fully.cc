// SPDX-License-Identifier: Apache-2.0
#include "base/write_fully.h"

#include <unistd.h>

#include <cerrno>

namespace cloche {

bool write_fully(int fd, std::span<const std::byte> bytes) noexcept {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace cloche
