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
#include "native/warden/proc_text.h"

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
  return number_after<pid_t>(read_text(path.data(), text), "\nTgid:\t").value_or(0);
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
