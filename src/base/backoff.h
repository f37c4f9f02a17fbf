// SPDX-License-Identifier: Apache-2.0
// Backoff: how long to pause before one looks again at what tells nobody that it has changed: each
// pause twice the one before, up to the longest. Soon where it takes a moment, and cheap where it
// takes long. What can be waited for is waited for instead.
#pragma once

#include <algorithm>
#include <chrono>

namespace cloche {

class Backoff {
 public:
  // `first` is more than nothing.
  Backoff(std::chrono::milliseconds first, std::chrono::milliseconds longest)
      : next_(first), longest_(longest) {}

  // The pause to make now.
  std::chrono::milliseconds next() {
    const std::chrono::milliseconds pause = std::min(next_, longest_);
    next_ = 2 * pause;
    return pause;
  }

 private:
  std::chrono::milliseconds next_;
  const std::chrono::milliseconds longest_;
};

}  // namespace cloche
