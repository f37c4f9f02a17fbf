// SPDX-License-Identifier: Apache-2.0
#include "native/warden/box_group.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

namespace cloche::warden {
namespace {

constexpr std::uint64_t none = ~std::uint64_t{0};
constexpr std::uint32_t weight_of_one = 100;  // as the kernel has it by default
constexpr std::uint32_t most_weight = 10'000;

}  // namespace

BoxGroup::BoxGroup(const Fd& folder) noexcept {
  constexpr std::array<const char*, file_count> names{"memory.swap.max", "memory.max", "pids.max",
                                                      "cpu.weight", "memory.events"};
  for (std::size_t i = 0; i < file_count; ++i)
    files_[i].reset(
        ::openat(folder.get(), names[i], (i == events ? O_RDONLY : O_WRONLY) | O_CLOEXEC));
}

bool BoxGroup::write(File file, std::uint64_t value) const noexcept {
  if (!files_[file]) return true;
  std::array<char, 32> text{"max"};
  if (value != none)
    std::snprintf(text.data(), text.size(), "%llu", static_cast<unsigned long long>(value));
  const auto size = static_cast<ssize_t>(std::strlen(text.data()));
  return ::pwrite(files_[file].get(), text.data(), static_cast<std::size_t>(size), 0) == size;
}

bool BoxGroup::limit(const Limits& to) const noexcept {
  const std::uint32_t share = std::clamp(to.cpus, 1U, most_weight / weight_of_one) * weight_of_one;
  return write(swap, to.memory_bytes == 0 ? none : 0) &&
         write(memory, to.memory_bytes == 0 ? none : to.memory_bytes) &&
         write(processes, to.processes) && write(weight, share);
}

std::uint64_t BoxGroup::killed() noexcept {
  std::array<char, 512> room{};
  const ssize_t got =
      files_[events] ? ::pread(files_[events].get(), room.data(), room.size(), 0) : 0;
  const std::string_view text(room.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  constexpr std::string_view name = "oom_kill ";
  const std::size_t at = text.find(name);
  if (at == std::string_view::npos) return 0;
  std::uint64_t all = 0;
  (void)std::from_chars(text.data() + at + name.size(), text.data() + text.size(), all);
  return all - std::exchange(known_killed_, std::max(all, known_killed_));
}

}  // namespace cloche::warden
