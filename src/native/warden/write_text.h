// SPDX-License-Identifier: Apache-2.0
// What the kernel is told by a file of its own.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <string_view>

#include "native/warden/fd.h"

namespace cloche::warden {

// In one write to a file that is there; false with errno.
inline bool write_text(const char* path, std::string_view text) noexcept {
  const Fd file(::open(path, O_WRONLY | O_CLOEXEC));
  return file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

}  // namespace cloche::warden
