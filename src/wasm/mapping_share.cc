// SPDX-License-Identifier: Apache-2.0
#include "wasm/mapping_share.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>

#include "base/share_limit.h"
#include "base/unique_fd.h"

namespace cloche::wasm {
namespace {

constexpr std::size_t usual_mappings_max = 65'530;
// Beside what instances are: threads of the server, the allocator, libraries.
constexpr std::size_t instance_usually = 16;
// What the kernel has said is true for that long, where nothing has begun since; and where it was
// too much, so long at least.
constexpr std::chrono::seconds seen_for{5};
constexpr std::chrono::milliseconds full_for{500};

std::size_t mappings_max_of_this_machine() {
  std::size_t most = 0;
  std::ifstream("/proc/sys/vm/max_map_count") >> most;
  return most > 0 ? most : usual_mappings_max;
}

// A line each.
std::optional<std::size_t> count_lines(int maps) {
  std::array<char, 64 << 10> piece;
  std::size_t lines = 0;
  for (off_t at = 0;;) {
    const ssize_t got = ::pread(maps, piece.data(), piece.size(), at);
    if (got < 0) return std::nullopt;
    if (got == 0) return lines;
    lines += static_cast<std::size_t>(std::count(piece.data(), piece.data() + got, '\n'));
    at += got;
  }
}

}  // namespace

MappingShare::MappingShare(std::size_t mappings_max, Count count,
                           std::function<Clock::time_point()> now)
    : guests_max_(three_quarters(mappings_max)),
      owner_max_(three_quarters(guests_max_)),
      count_(std::move(count)),
      now_(std::move(now)) {}

MappingShare& MappingShare::of_this_process() {
  static const UniqueFd maps(::open("/proc/self/maps", O_RDONLY | O_CLOEXEC));
  static MappingShare share(mappings_max_of_this_machine(), [] { return count_lines(maps.get()); });
  return share;
}

std::optional<MappingShare::Permit> MappingShare::acquire(std::shared_ptr<Owner> owner) {
  if ((instances_.held() + 1) * instance_max > guests_max_ / 2) {
    const MutexLock lock(mutex_);
    if (!fits(instances_.has_most(owner) ? owner_max_ : guests_max_)) return std::nullopt;
    ++begun_since_;
  }
  return std::make_optional<Permit>(instances_, std::move(owner));
}

bool MappingShare::fits(std::size_t limit) {
  const auto age = seen_at_ ? now_() - *seen_at_ : Clock::duration::max();
  if (seen_ + (begun_since_ + 1) * instance_max <= limit && age < seen_for) return true;
  if (seen_ > limit && age < full_for) return false;
  look();
  return seen_ <= limit;
}

void MappingShare::look() {
  seen_ = count_().value_or(instances_.held() * instance_usually);
  seen_at_ = now_();
  begun_since_ = 0;
}

}  // namespace cloche::wasm
