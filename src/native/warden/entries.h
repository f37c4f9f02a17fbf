// SPDX-License-Identifier: Apache-2.0
// What reads the entries of a folder that is open: closedir() closes it.
#pragma once

#include <dirent.h>
#include <unistd.h>

#include <cerrno>

namespace cloche::warden {

// Null, with errno: `folder` is none, or is closed, for there is no memory to read it.
inline DIR* entries_of(int folder) noexcept {
  DIR* const entries = folder < 0 ? nullptr : ::fdopendir(folder);
  if (entries == nullptr && folder >= 0) {
    const int error = errno;
    ::close(folder);
    errno = error;
  }
  return entries;
}

}  // namespace cloche::warden
