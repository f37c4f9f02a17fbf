// SPDX-License-Identifier: Apache-2.0
// RawTerminal: cloche's own terminal while a terminal of a sandbox is shown on it: every byte that
// is typed comes through, and every byte that is shown is the sandbox's.
#pragma once

#include <termios.h>

#include "cloche/live_run.h"

namespace cloche::cli {

class RawTerminal {
 public:
  // Raw mode from here on. Throws std::system_error when `fd` is no terminal.
  explicit RawTerminal(int fd);
  // As it was before; also when the program ends by exit or abort without coming here.
  ~RawTerminal();
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

  // After the program was stopped and goes on: the shell that stopped it has set its own mode.
  void enter() noexcept;
  TerminalSize size() const noexcept;

 private:
  int fd_;
};

}  // namespace cloche::cli
