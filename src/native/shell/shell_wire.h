// SPDX-License-Identifier: Apache-2.0
// What Cloche and the library in a kept bash say to each other, in packets. All that comes from the
// shell is a guest's word.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cloche::shell {

// Descriptors of the shell as it starts, after 0, 1 and 2, which are of no turn: all lead nowhere.
inline constexpr int control_fd = 3;
inline constexpr int library_fd = 4;

// What is said of a turn has no more bytes in a packet; more comes as a file.
inline constexpr std::size_t packet_bytes = 32 << 10;

enum class Ask : std::uint32_t {
  turn,  // beside it: descriptors 0, 1 and 2 of the turn, and where `in_file` the frame
  save,  // beside it: the file that gets the image
};

// The frame of a turn is strings, each ended by a zero: the folder of this turn, or nothing; the
// number of arguments ($0 ...) and these; the number of variables to set and these (NAME=VALUE);
// the number of variables of this turn alone and these; the script.
struct Request {
  Ask ask = Ask::turn;
  std::uint32_t in_file = 0;
  std::uint64_t number = 0;
  std::uint64_t bytes = 0;  // of the frame
};

enum class Tell : std::uint32_t {
  ready,      // first of all; `value` is an errno where this bash cannot be kept
  ended,      // of turn: `value` is the exit status
  no_files,   // of turn: it was not given its descriptors; nothing was run
  no_folder,  // of turn: `value` is an errno; nothing was run
  saved,      // of save: `value` is an errno
};

struct Answer {
  Tell tell = Tell::ready;
  std::int32_t value = 0;
  std::uint64_t number = 0;  // of the request
};

}  // namespace cloche::shell
