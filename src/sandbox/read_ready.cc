// SPDX-License-Identifier: Apache-2.0
#include "sandbox/read_ready.h"

#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

namespace cloche::sandbox {

ssize_t read_ready(int fd, std::span<std::byte> to) noexcept {
  constexpr off_t at_its_position = -1;
  struct stat of{};
  // A file whose content has to come from a disk would always have something, and always nothing.
  if (::fstat(fd, &of) != 0 || S_ISREG(of.st_mode)) return ::read(fd, to.data(), to.size());
  const iovec place{to.data(), to.size()};
  const ssize_t got = ::preadv2(fd, &place, 1, at_its_position, RWF_NOWAIT);
  if (got >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL)) return got;
  return ::read(fd, to.data(), to.size());
}

}  // namespace cloche::sandbox
