// SPDX-License-Identifier: Apache-2.0
// The lock of an open file among processes (flock(2)). The kernel lets one wait for it without an
// end or not at all: whoever may give up has to look now and then, at growing intervals.
#pragma once

#include <cstdint>
#include <functional>

namespace cloche {

enum class FileLockEnd : std::uint8_t {
  taken,     // until the descriptor and its copies are closed
  given_up,  // another one has it
  refused,   // there are no locks here: errno says why
};

// Waits until it is taken or `give_up`, which is asked before each pause, says true. An empty one
// waits for as long as it takes.
FileLockEnd take_file_lock(int fd, const std::function<bool()>& give_up);

}  // namespace cloche
