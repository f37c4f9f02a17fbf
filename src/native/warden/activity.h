// SPDX-License-Identifier: Apache-2.0
// Activity: how much the processes of a box may have computed since a look at them. Memory is not
// taken without computing, so where nothing has, nothing needs to be looked at again. Their clocks
// tell it, and the number of the newest process: no file of theirs is read, nor is anything waited
// for that they hold.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "native/warden/fd.h"

namespace cloche::warden {

// What all threads that a process has and had have computed. None: it is gone.
std::optional<std::uint64_t> computed_ns(pid_t pid) noexcept;

class Activity {
 public:
  Activity() noexcept;

  // A look begins. Each process that it finds is added before it is looked at.
  void begin() noexcept;
  void add(pid_t pid) noexcept;

  // What those of the last look have computed since then, together. None: there may be others, one
  // has ended, or there are too many to ask.
  std::optional<std::uint64_t> since_ns() const noexcept;

 private:
  // The newest process or thread that anybody has started in this namespace; -1: nobody tells.
  long newest() const noexcept;

  struct Known {
    pid_t pid = 0;
    std::uint64_t computed_ns = 0;
  };
  Fd loads_;
  std::array<Known, 512> known_{};
  std::size_t count_ = 0;
  bool is_whole_ = false;
  long newest_ = -1;
};

}  // namespace cloche::warden
