// SPDX-License-Identifier: Apache-2.0
#include "doors/cli/raw_terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <system_error>

namespace cloche::cli {
namespace {

// What a handler of a signal needs: there is one terminal per program.
std::atomic<int> raw_fd{-1};
termios cooked;

void restore() noexcept {
  const int fd = raw_fd.exchange(-1);
  if (fd >= 0) (void)::tcsetattr(fd, TCSADRAIN, &cooked);
}

void restore_and_abort(int) { restore(); }  // abort goes on to end the program

}  // namespace

RawTerminal::RawTerminal(int fd) : fd_(fd) {
  if (::tcgetattr(fd, &cooked) != 0)
    throw std::system_error(errno, std::generic_category(), "cannot read the terminal's mode");
  static const int registered = std::atexit(restore);
  (void)registered;
  std::signal(SIGABRT, restore_and_abort);
  enter();
}

RawTerminal::~RawTerminal() { restore(); }

void RawTerminal::enter() noexcept {
  termios raw = cooked;
  ::cfmakeraw(&raw);
  raw_fd = fd_;
  (void)::tcsetattr(fd_, TCSADRAIN, &raw);
}

TerminalSize RawTerminal::size() const noexcept {
  winsize window{};
  TerminalSize size;
  if (::ioctl(fd_, TIOCGWINSZ, &window) != 0 || window.ws_row == 0 || window.ws_col == 0)
    return size;
  return {window.ws_row, window.ws_col, window.ws_xpixel, window.ws_ypixel};
}

}  // namespace cloche::cli
