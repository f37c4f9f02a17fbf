// SPDX-License-Identifier: Apache-2.0
// Waiting for a box, and sockets to talk with one.
#pragma once

#include <sys/socket.h>

#include <chrono>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cloche::native {

// For what a box answers at once, on a machine with much to do.
inline constexpr std::chrono::milliseconds patience{30'000};

bool readable_within(int fd, std::chrono::milliseconds limit);

struct Sockets {
  UniqueFd ours;
  UniqueFd theirs;
};
// `type` as of socketpair.
Result<Sockets> make_sockets(int type = SOCK_SEQPACKET);

}  // namespace cloche::native
