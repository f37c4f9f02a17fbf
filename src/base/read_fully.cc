// SPDX-License-Identifier: Apache-2.0
#include "base/read_fully.h"

#include <unistd.h>

#include <array>
#include <cerrno>

namespace cloche {

Result<std::string> read_fully(int fd, std::size_t most_bytes) {
  std::string text;
  std::array<char, 65536> piece;
  for (;;) {
    const ssize_t got = ::read(fd, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_from_host(errno);
    if (got == 0) return text;
    if (static_cast<std::size_t>(got) > most_bytes - text.size()) return Errno::fbig;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace cloche
