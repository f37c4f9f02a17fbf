// SPDX-License-Identifier: Apache-2.0
// termios(3) as values: flags, special characters and the structures that the ioctls carry, with
// Linux's asm-generic numbers.
#pragma once

#include <array>
#include <cstdint>

namespace cloche::kernel::tty {

inline constexpr std::uint32_t ignbrk = 01, brkint = 02, parmrk = 010, istrip = 040, inlcr = 0100,
                               igncr = 0200, icrnl = 0400, iuclc = 01000, ixon = 02000,
                               ixany = 04000, ixoff = 010000, imaxbel = 020000, iutf8 = 040000;
inline constexpr std::uint32_t opost = 01, olcuc = 02, onlcr = 04, ocrnl = 010, onocr = 020,
                               onlret = 040, tabdly = 014000;
inline constexpr std::uint32_t isig = 01, icanon = 02, echo = 010, echoe = 020, echok = 040,
                               echonl = 0100, noflsh = 0200, tostop = 0400, echoctl = 01000,
                               echoprt = 02000, echoke = 04000, iexten = 0100000;

// Indices of special characters. A character that is 0 is off.
enum CharacterIndex : std::size_t {
  vintr,
  vquit,
  verase,
  vkill,
  veof,
  vtime,
  vmin,
  vswtc,
  vstart,
  vstop,
  vsusp,
  veol,
  vreprint,
  vdiscard,
  vwerase,
  vlnext,
  veol2,
};

inline constexpr std::size_t cc_count = 19;

// struct termios2 of the kernel; struct termios is its first 36 bytes.
struct Termios {
  std::uint32_t iflag = icrnl | ixon | iutf8;
  std::uint32_t oflag = opost | onlcr;
  std::uint32_t cflag = 0277;  // B38400 CS8 CREAD
  std::uint32_t lflag = isig | icanon | echo | echoe | echok | echoctl | echoke | iexten;
  std::uint8_t line = 0;
  std::array<std::uint8_t, cc_count> cc = {3,  28, 127, 21, 4,  0,  1, 0, 17, 19,
                                           26, 0,  18,  15, 23, 22, 0, 0, 0};
  std::uint32_t ispeed = 38400;
  std::uint32_t ospeed = 38400;

  bool has_input(std::uint32_t flag) const { return (iflag & flag) != 0; }
  bool has_output(std::uint32_t flag) const { return (oflag & flag) != 0; }
  bool has_local(std::uint32_t flag) const { return (lflag & flag) != 0; }
  bool is(CharacterIndex which, std::uint8_t c) const { return c != 0 && cc[which] == c; }
};
static_assert(sizeof(Termios) == 44);
inline constexpr std::size_t termios_bytes = 36;

// struct termio, of System V.
struct Termio {
  std::uint16_t iflag, oflag, cflag, lflag;
  std::uint8_t line;
  std::uint8_t cc[8];
  std::uint8_t pad;
};
inline constexpr std::size_t termio_bytes = 17;

struct WindowSize {
  std::uint16_t rows = 24;
  std::uint16_t columns = 80;
  std::uint16_t x_pixels = 0;
  std::uint16_t y_pixels = 0;
  friend bool operator==(const WindowSize&, const WindowSize&) = default;
};

}  // namespace cloche::kernel::tty
