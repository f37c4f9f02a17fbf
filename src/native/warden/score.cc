// SPDX-License-Identifier: Apache-2.0
#include "native/warden/score.h"

#include <fcntl.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>

namespace cloche::warden {
namespace {

int number_in(std::string_view text) noexcept {
  int number = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

bool hold_score_of_guest(pid_t pid) noexcept {
  std::array<char, 64> path{};
  std::snprintf(path.data(), path.size(), "/proc/%d/oom_score_adj", pid);
  Fd file(::open(path.data(), O_RDWR | O_CLOEXEC));
  const bool is_ours = static_cast<bool>(file);
  if (!is_ours && errno == EACCES) file.reset(::open(path.data(), O_RDONLY | O_CLOEXEC));
  std::array<char, 16> text{};
  const ssize_t got = file ? ::read(file.get(), text.data(), text.size()) : -1;
  if (got <= 0) return true;  // it is gone
  if (number_in({text.data(), static_cast<std::size_t>(got)}) >= number_in(score_of_guests))
    return true;
  if (is_ours) set_score(file, score_of_guests);
  return is_ours;
}

}  // namespace cloche::warden
