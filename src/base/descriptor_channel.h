// SPDX-License-Identifier: Apache-2.0
// A channel between two processes of this machine: short messages, each with a file descriptor or
// none. It has no name, so nobody else can connect to it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/unique_fd.h"

namespace cloche {

inline constexpr std::size_t channel_message_max_bytes = 4096;

// Both ends, close-on-exec. Throws HostError.
std::pair<UniqueFd, UniqueFd> make_channel();

// Sends a message of 1 byte to channel_message_max_bytes, with a copy of `descriptor` where that is
// not -1; does not wait. 0, or the errno: EPIPE, the other end has gone; EAGAIN, it reads too
// slowly.
int send_message(int channel, std::string_view text, int descriptor = -1) noexcept;

struct ChannelMessage {
  std::string text;
  UniqueFd descriptor;  // none: there came none
};
// Waits for the next one. Nothing: the other end has gone.
std::optional<ChannelMessage> receive_message(int channel);

}  // namespace cloche
