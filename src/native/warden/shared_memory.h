// SPDX-License-Identifier: Apache-2.0
// Memory that processes share without a file (MAP_SHARED | MAP_ANONYMOUS), as /proc/PID/maps has
// it. It counts for as much as was mapped: what of it there is nobody tells, and what a process has
// given back of its own view, or has never looked at, may be there still.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <string_view>

namespace cloche::warden {

class SharedMemory {
 public:
  // Learns by a piece of its own on what device such memory lies.
  SharedMemory() noexcept;

  // A look at several processes, one after the other.
  void begin() noexcept;
  // What the process has mapped of it. Where there are too many mappings to look at, all that may
  // be such memory, which is `most`.
  std::uint64_t add(pid_t pid, std::uint64_t most) noexcept;
  // Of all since begin(); what several have mapped counts once.
  std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  struct Piece {
    std::uint64_t inode = 0;
    std::uint64_t bytes = 0;
  };

  // The bytes of a line that is of such memory; 0: it is not.
  std::uint64_t take_line(std::string_view line) noexcept;

  std::array<char, 24> device_{};  // "00:01"
  std::array<Piece, 256> known_{};
  std::size_t known_count_ = 0;
  std::size_t lines_left_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace cloche::warden
