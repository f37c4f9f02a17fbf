// SPDX-License-Identifier: Apache-2.0
// A read of a descriptor that was said to have something. Where somebody else reads it as well,
// that may be gone by then, and who waits here for more hears of no time limit and no end.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <span>

namespace cloche::sandbox {

// As read(2) says; EAGAIN: there is nothing. Waits where the host's kernel cannot read without: of
// pipes before Linux 6.4, of terminals.
ssize_t read_ready(int fd, std::span<std::byte> to) noexcept;

}  // namespace cloche::sandbox
