// SPDX-License-Identifier: Apache-2.0
// FloodBudget: how many frames of HTTP/2 a client may send that ask for nothing. Each of them is
// cheap, and a client that sends nothing else keeps a thread busy for nothing.
//
// There is some of it at first; it grows with time, and with the body bytes that move, which honest
// clients answer with such frames.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace cloche::http {

class FloodBudget {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::int64_t most = 4000;
  static constexpr std::int64_t each_second = 200;
  static constexpr std::int64_t each_moved_frame = 4;

  explicit FloodBudget(Time now) : grown_(now) {}

  // Takes so much; false where it is not there.
  bool spend(std::int64_t amount, Time now) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(now - grown_);
    if (seconds.count() > 0) {
      grown_ += seconds;
      earn(std::min<std::int64_t>(seconds.count(), most) * each_second);
    }
    if (left_ < amount) return false;
    left_ -= amount;
    return true;
  }
  // A frame with bytes of a body has come or gone.
  void moved() { earn(each_moved_frame); }

 private:
  void earn(std::int64_t amount) { left_ = std::min(left_ + amount, most); }

  std::int64_t left_ = most;
  Time grown_;
};

}  // namespace cloche::http
