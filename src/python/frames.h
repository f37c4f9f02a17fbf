// SPDX-License-Identifier: Apache-2.0
// What the host and the interpreter's own modules (userland/python/lib/_cloche) say to each other:
// each kind of frame once, with its mark. docs/python-frames.md is made from here.
//
//   turn     the host calls the interpreter's `turn` with a frame: a mark, then what it says
//   word     the interpreter writes to the session's descriptor (session_port.h): a mark, then ...
//   reply    the host's answer there: length and number (4 bytes each), a mark, then ...
//   request  the interpreter calls `host.call` (host_door.h): four letters, then ...
//
// A mark that is in use keeps its meaning: interpreters in image files outlive a release.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace cloche::python {

// What `turn` is asked to do.
enum class Turn : char {
  process = 'P',
  session = 'S',
  execute = 'X',
  exit_status = 'Q',
  resume = 'F',
  join = 'G',
  image = 'I',
  evaluate = 'E',
  snapshot = 'N',
  restore = 'R',
  clear = 'C',
  settle = 'Z',
};

enum class SessionWord : char {
  call = 'C',
  forget_call = 'X',
  stops = 'K',
  listens = 'L',
  record = 'R',
  bytes = 'B',
  trace = 'T',
};

enum class HostReply : char { result = 'r', error = 'e' };

using Magic = std::array<char, 4>;
namespace request {
inline constexpr Magic system_call{'s', 'y', 's', '0'};
inline constexpr Magic make_immortal{'i', 'm', 'm', '0'};
inline constexpr Magic peek{'p', 'e', 'k', '0'};
inline constexpr Magic poke{'p', 'o', 'k', '0'};
inline constexpr Magic signal_words{'s', 'g', 'n', '0'};
inline constexpr Magic change_package{'p', 'k', 'g', '0'};
inline constexpr Magic open_wheel{'w', 'h', 'l', '0'};
inline constexpr Magic show_figure{'f', 'i', 'g', '0'};
inline constexpr Magic begin_thread{'t', 'h', 'r', '0'};
inline constexpr Magic run_thread{'s', 'w', 't', '0'};
inline constexpr Magic yield_thread{'y', 'l', 'd', '0'};
inline constexpr Magic end_thread{'e', 'n', 'd', '0'};
inline constexpr Magic tick{'t', 'c', 'k', '0'};
inline constexpr std::array all{system_call,  make_immortal,  peek,         poke,
                                signal_words, change_package, open_wheel,   show_figure,
                                begin_thread, run_thread,     yield_thread, end_thread,
                                tick};
}  // namespace request

// A frame in words. Nothing for a mark that is none.
struct FrameInfo {
  std::string_view content;  // what follows the mark
  std::string_view meaning;
};
std::optional<FrameInfo> frame_info(Turn turn) noexcept;
std::optional<FrameInfo> frame_info(SessionWord word) noexcept;
std::optional<FrameInfo> frame_info(HostReply reply) noexcept;
std::optional<FrameInfo> frame_info(Magic magic) noexcept;

}  // namespace cloche::python
