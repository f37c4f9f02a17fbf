// SPDX-License-Identifier: Apache-2.0
#include "native/warden/guest_file.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "native/warden/alarm.h"

namespace cloche::warden {
namespace {

constexpr unsigned pidfd_of_thread = O_EXCL;  // PIDFD_THREAD
constexpr long pidfd_getfd = 438;
constexpr int close_wait_ms = 1;

// The process that a thread is of; 0: it is gone.
pid_t process_of(pid_t thread) {
  std::array<char, 64> path{"/proc/"};
  char* const end = std::to_chars(path.data() + 6, path.data() + path.size() - 8, thread).ptr;
  std::copy_n("/status", 8, end);
  std::array<char, 1024> text{};
  const Fd file(::open(path.data(), O_RDONLY | O_CLOEXEC));
  const ssize_t got = file ? ::read(file.get(), text.data(), text.size()) : -1;
  const std::string_view status(text.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  constexpr std::string_view field("\nTgid:\t");
  const std::size_t at = status.find(field);
  pid_t process = 0;
  if (at != std::string_view::npos)
    (void)std::from_chars(status.data() + at + field.size(), status.data() + status.size(),
                          process);
  return process;
}

}  // namespace

Fd guest_file(pid_t thread, int number) noexcept {
  Fd process(static_cast<int>(::syscall(SYS_pidfd_open, thread, pidfd_of_thread)));
  if (!process) process.reset(static_cast<int>(::syscall(SYS_pidfd_open, process_of(thread), 0)));
  if (!process) return {};
  return Fd(static_cast<int>(::syscall(pidfd_getfd, process.get(), number, 0)));
}

void leave_guest_file(Fd& file) noexcept {
  const Alarm ends(close_wait_ms);
  file.reset();
}

}  // namespace cloche::warden
