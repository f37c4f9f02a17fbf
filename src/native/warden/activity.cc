// SPDX-License-Identifier: Apache-2.0
#include "native/warden/activity.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <string_view>
#include <system_error>

namespace cloche::warden {

std::optional<std::uint64_t> computed_ns(pid_t pid) noexcept {
  constexpr unsigned scheduler = 2;  // CPUCLOCK_SCHED, of a process
  const auto clock = static_cast<clockid_t>((~static_cast<unsigned>(pid) << 3) | scheduler);
  timespec time{};
  if (::clock_gettime(clock, &time) != 0) return std::nullopt;
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

Activity::Activity() noexcept : loads_(::open("/proc/loadavg", O_RDONLY | O_CLOEXEC)) {}

// The last word of the line.
long Activity::newest() const noexcept {
  std::array<char, 128> text{};
  const ssize_t got = loads_ ? ::pread(loads_.get(), text.data(), text.size(), 0) : -1;
  std::string_view line(text.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  line = line.substr(0, line.find('\n'));
  const std::size_t space = line.rfind(' ');
  if (space == std::string_view::npos) return -1;
  line.remove_prefix(space + 1);
  long number = -1;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
  return error == std::errc() ? number : -1;
}

void Activity::begin() noexcept {
  newest_ = newest();
  is_whole_ = newest_ >= 0;
  count_ = 0;
}

void Activity::add(pid_t pid) noexcept {
  const std::optional<std::uint64_t> computed = computed_ns(pid);
  is_whole_ = is_whole_ && computed && count_ < known_.size();
  if (is_whole_) known_[count_++] = {.pid = pid, .computed_ns = *computed};
}

std::optional<std::uint64_t> Activity::since_ns() const noexcept {
  if (!is_whole_) return std::nullopt;
  std::uint64_t since = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    const std::optional<std::uint64_t> computed = computed_ns(known_[i].pid);
    if (!computed) return std::nullopt;
    since += *computed - std::min(*computed, known_[i].computed_ns);
  }
  if (newest() != newest_) return std::nullopt;
  return since;
}

}  // namespace cloche::warden
