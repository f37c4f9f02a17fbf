// SPDX-License-Identifier: Apache-2.0
// RequestStates: what a client of the modern era brings back with the user's answer, which proves
// that we asked: for this owner, tool and arguments, within the last minutes, and not answered
// before. Clients can read it, and cannot make one. Thread-safe.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/mutex.h"

namespace cloche::mcp {

class RequestStates {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::minutes lifetime{10};

  RequestStates();

  // `about` is all that it holds for.
  std::string make(std::string_view about, Time now = std::chrono::steady_clock::now()) const;
  // Whether it was made here for the same, is not too old, and was not taken before. Of one owner
  // so many are taken within a lifetime, and no more.
  static constexpr std::size_t owner_limit = 1000;
  bool take(const std::string& owner, std::string_view state, std::string_view about,
            Time now = std::chrono::steady_clock::now());

 private:
  std::string seal(std::string_view head, std::string_view about) const;

  std::array<std::byte, 32> key_;
  Mutex mutex_;
  // By owner and head, until they are too old anyway.
  std::map<std::string, std::map<std::string, Time>> taken_ GUARDED_BY(mutex_);
};

}  // namespace cloche::mcp
