// SPDX-License-Identifier: Apache-2.0
// Pace: how fast bytes come, at the least. A registry that sends one now and then is as good as one
// that is silent: without this there would be no end of it but its user's.
#pragma once

#include <chrono>
#include <cstdint>

namespace cloche::pull {

using SteadyTime = std::chrono::steady_clock::time_point;

constexpr std::uint64_t least_bytes_a_second = 1024;

// Of one transfer. Each minute of it is judged for itself, so that who was fast does not wait long.
class Pace {
 public:
  explicit Pace(SteadyTime begin) : begin_(begin) {}

  void add(std::uint64_t bytes) noexcept { bytes_ += bytes; }
  // Whether it has been too slow by then.
  bool is_too_slow(SteadyTime now) noexcept {
    if (now - begin_ < window) return false;
    if (bytes_ < least_bytes_a_second * window.count()) return true;
    begin_ = now;
    bytes_ = 0;
    return false;
  }

 private:
  static constexpr std::chrono::seconds window{60};

  SteadyTime begin_;
  std::uint64_t bytes_ = 0;
};

// Of one thing that is brought by as many transfers as it takes.
class Progress {
 public:
  explicit Progress(SteadyTime begin) : since_(begin) {}

  // Whether it has come so much further since it last had that a second of it was worth while.
  bool has_come_further(std::uint64_t bytes, SteadyTime now) noexcept {
    const auto seconds = std::chrono::duration<double>(now - since_).count();
    if (bytes <= furthest_ ||
        static_cast<double>(bytes - furthest_) < seconds * least_bytes_a_second)
      return false;
    furthest_ = bytes;
    since_ = now;
    return true;
  }

 private:
  std::uint64_t furthest_ = 0;
  SteadyTime since_;
};

}  // namespace cloche::pull
