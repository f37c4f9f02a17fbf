// SPDX-License-Identifier: Apache-2.0
// SocketMemory: what the sockets of a box keep in the kernel, which no process shows. Of those
// between processes, and to the kernel, nobody tells how much that is: beyond what programs usually
// have each counts for all that it could keep. Of those of the network the kernel tells, and is
// asked where they could have more than there is room for.
#pragma once

#include <cstdint>

namespace cloche::warden {

class SocketMemory {
 public:
  // As far as it is known to be, where no more than `room` is left.
  std::uint64_t bytes(std::uint64_t room) noexcept;
  // Somebody was ended for it: the kernel is asked anew.
  void forget() noexcept { next_ms_ = 0; }

 private:
  std::uint64_t network_bytes(std::uint64_t count) noexcept;

  std::int64_t next_ms_ = 0;  // not before that is asked again
  std::uint64_t last_bytes_ = 0;
};

}  // namespace cloche::warden
