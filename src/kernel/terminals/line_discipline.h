// SPDX-License-Identifier: Apache-2.0
// LineDiscipline: what stands between the keyboard and a program: line editing, echo, signal
// characters, and the treatment of output. It is a machine of its own: bytes go in, bytes, echo and
// signals come out; it knows no processes and never blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/terminals/termios.h"

namespace cloche::kernel {

class LineDiscipline {
 public:
  // Bytes of input that are kept. In canonical mode the rest of a longer line is dropped, but for
  // its end.
  static constexpr std::size_t max_input_bytes = 4096;

  // What input has caused.
  struct Effects {
    std::string echo;          // for the screen, output processing already done
    std::vector<int> signals;  // for the foreground group
    bool flush_output = false;
    bool input_changed = false;

    // One byte may cause kilobytes of echo: who types a megabyte of them gets it in steps.
    bool is_much() const noexcept { return echo.size() >= 16384 || signals.size() >= 64; }
  };

  const tty::Termios& termios() const noexcept { return termios_; }
  // A change of ICANON makes what has been typed readable.
  void set_termios(const tty::Termios& termios);

  // Takes typed bytes; how many were taken: fewer than all only when the reader is behind, or when
  // they have caused much: apply the effects then, and go on with the rest.
  std::size_t receive(std::span<const std::byte> typed, Effects& effects);
  // True when receive() takes at least one byte.
  bool accepts() const noexcept;
  void flush_input();

  // Takes input: in canonical mode at most one line. Nothing there and the end of file are told
  // apart by `end_of_file`.
  struct Taken {
    std::size_t count = 0;
    bool end_of_file = false;
  };
  Taken take(std::span<std::byte> to);
  // In canonical mode a line (or an end of file) is there; otherwise at least `minimum` bytes.
  bool readable(std::size_t minimum = 1) const noexcept;
  // FIONREAD.
  std::size_t readable_bytes() const noexcept;

  // Processes output into `to` until that has `room` bytes more or `from` is used up; how much of
  // `from` is used.
  std::size_t process_output(std::span<const std::byte> from, std::size_t room, std::string& to);

  // ^S has stopped output.
  bool output_stopped() const noexcept { return stopped_; }
  void set_output_stopped() noexcept { stopped_ = true; }
  void set_output_started() noexcept { stopped_ = false; }

 private:
  bool canonical() const noexcept { return termios_.has_local(tty::icanon); }
  std::size_t held_bytes() const noexcept;
  void receive_one(std::uint8_t c, Effects& effects);
  bool receive_special(std::uint8_t c, Effects& effects);
  bool receive_flow_control(std::uint8_t c);
  bool receive_signal(std::uint8_t c, Effects& effects);
  bool receive_editing(std::uint8_t c, Effects& effects);
  void store(std::uint8_t c, Effects& effects);
  void finish_line(Effects& effects);

  void erase_character(Effects& effects);
  void erase_word(Effects& effects);
  void erase_line(Effects& effects);
  // Drops the last character of the line, with the bytes that continue it, and removes it from the
  // screen.
  void drop_last(Effects& effects);
  std::size_t last_character_at() const noexcept;
  // Columns that the first `bytes` of the line take, from where the line starts.
  std::size_t column_after(std::size_t bytes) const noexcept;

  void echo_raw(std::string_view bytes, Effects& effects);
  void echo_character(std::uint8_t c, Effects& effects);
  void finish_erasing(Effects& effects);
  // One byte of output, processed.
  void put_output(std::uint8_t c, std::string& to);

  tty::Termios termios_;
  std::string line_;               // being edited
  std::deque<std::string> lines_;  // finished; an empty one is an end of file
  std::size_t lines_bytes_ = 0;
  std::string raw_;  // non-canonical input
  bool literal_next_ = false;
  bool erasing_ = false;  // ECHOPRT: within \.../
  bool stopped_ = false;
  std::size_t column_ = 0;       // of the cursor
  std::size_t line_column_ = 0;  // of the cursor where the line began
};

}  // namespace cloche::kernel
