// SPDX-License-Identifier: Apache-2.0
#include "base/file_lock.h"

#include <sys/file.h>

#include <cerrno>
#include <thread>

#include "base/backoff.h"

namespace cloche {

FileLockEnd take_file_lock(int fd, const std::function<bool()>& give_up) {
  Backoff backoff(std::chrono::milliseconds(1), std::chrono::milliseconds(20));
  while (::flock(fd, give_up ? LOCK_EX | LOCK_NB : LOCK_EX) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return FileLockEnd::refused;
    if (give_up()) return FileLockEnd::given_up;
    std::this_thread::sleep_for(backoff.next());
  }
  return FileLockEnd::taken;
}

}  // namespace cloche
