// SPDX-License-Identifier: Apache-2.0
#include "native/warden/proc_text.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "native/warden/fd.h"

namespace cloche::warden {

std::string_view read_text(const char* path, std::span<char> room) noexcept {
  const Fd file(::open(path, O_RDONLY | O_CLOEXEC));
  const ssize_t got = file ? ::read(file.get(), room.data(), room.size()) : -1;
  return {room.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
}

}  // namespace cloche::warden
