// SPDX-License-Identifier: Apache-2.0
// FileLocks: what locks of files a process may have. The kernel keeps each lock of a part of a file
// by itself, as many as a program asks for, and tells of them only with each descriptor: whoever
// has not computed since they were counted has made none, so that few are asked.
//
// One look at all processes after the other: begin(), then counted() for those that must_count().
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace cloche::warden {

class FileLocks {
 public:
  static constexpr std::size_t most_processes = 2048;

  // `room_bytes`: what all may take. The processes are in the order of their numbers.
  void begin(std::span<const pid_t> processes, std::uint64_t room_bytes) noexcept;

  // Of the processes of begin().
  bool must_count(std::size_t index) const noexcept { return now_[index].must_count; }
  void counted(std::size_t index, std::uint64_t locks) noexcept;
  std::uint64_t bytes(std::size_t index) const noexcept;

 private:
  struct Known {
    pid_t pid = 0;
    bool must_count = false;
    std::uint64_t computed_ns = 0;
    std::uint64_t counted_at_ns = 0;  // of what it has computed
    std::uint64_t locks = 0;          // by then
  };
  static std::uint64_t possible_bytes(const Known& known) noexcept;

  std::array<Known, most_processes> now_{}, before_{};
  std::size_t count_ = 0;
};

}  // namespace cloche::warden
