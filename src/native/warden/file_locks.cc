// SPDX-License-Identifier: Apache-2.0
#include "native/warden/file_locks.h"

#include <algorithm>

#include "native/warden/activity.h"

namespace cloche::warden {
namespace {

constexpr std::uint64_t lock_bytes = 208;
constexpr std::uint64_t fastest_ns = 500;       // that one is made in
constexpr std::uint64_t least_bytes = 1 << 20;  // for which nobody is asked

}  // namespace

std::uint64_t FileLocks::possible_bytes(const Known& known) noexcept {
  return (known.computed_ns - known.counted_at_ns) / fastest_ns * lock_bytes;
}

void FileLocks::begin(std::span<const pid_t> processes, std::uint64_t room_bytes) noexcept {
  std::copy_n(now_.begin(), count_, before_.begin());
  const auto before = std::span(before_).first(count_);
  count_ = std::min(processes.size(), now_.size());
  std::uint64_t all = 0;
  auto old = before.begin();
  for (std::size_t i = 0; i < count_; ++i) {
    while (old != before.end() && old->pid < processes[i]) ++old;
    const std::uint64_t computed = computed_ns(processes[i]).value_or(0);
    Known& known = now_[i];
    known = {.pid = processes[i]};
    // One that has computed less is another process of that number.
    if (old != before.end() && old->pid == known.pid && old->computed_ns <= computed) known = *old;
    known.computed_ns = computed;
    known.must_count = false;
    all += known.locks * lock_bytes + possible_bytes(known);
  }
  if (all <= room_bytes) return;
  for (Known& known : std::span(now_).first(count_))
    known.must_count = possible_bytes(known) > least_bytes;
}

void FileLocks::counted(std::size_t index, std::uint64_t locks) noexcept {
  Known& known = now_[index];
  known.locks = locks;
  known.counted_at_ns = known.computed_ns;
}

std::uint64_t FileLocks::bytes(std::size_t index) const noexcept {
  return now_[index].locks * lock_bytes;
}

}  // namespace cloche::warden
