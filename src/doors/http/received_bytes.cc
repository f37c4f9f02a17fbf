// SPDX-License-Identifier: Apache-2.0
#include "doors/http/received_bytes.h"

#include <utility>

namespace cloche::http {
namespace {

constexpr std::uint64_t step_bytes = 1 << 20;

std::uint64_t in_steps(std::uint64_t bytes) {
  return (bytes + step_bytes - 1) / step_bytes * step_bytes;
}

}  // namespace

bool ReceivedBytes::take(const std::string& owner, std::uint64_t bytes) {
  const MutexLock lock(mutex_);
  if (bytes > limit_ - bytes_) return false;
  const auto found = owners_.find(owner);
  const std::uint64_t owned = found == owners_.end() ? 0 : found->second;
  if (owned > owner_limit_ || bytes > owner_limit_ - owned) return false;
  if (found == owners_.end()) {
    owners_.emplace(owner, bytes);
  } else {
    found->second += bytes;
  }
  bytes_ += bytes;
  return true;
}

void ReceivedBytes::give_back(const std::string& owner, std::uint64_t bytes) noexcept {
  const MutexLock lock(mutex_);
  const auto found = owners_.find(owner);
  found->second -= bytes;
  if (found->second == 0) owners_.erase(found);
  bytes_ -= bytes;
}

std::uint64_t ReceivedBytes::bytes() const {
  const MutexLock lock(mutex_);
  return bytes_;
}

bool ReceivedBody::grow_to(std::uint64_t bytes) {
  if (bytes <= uncounted_bytes || bytes <= taken_) return true;
  // In steps, so that a body that comes in pieces asks seldom.
  if (bytes > UINT64_MAX - step_bytes) return false;
  const std::uint64_t wanted = in_steps(bytes);
  if (!all_->take(owner_, wanted - taken_)) return false;
  taken_ = wanted;
  return true;
}

bool ReceivedBody::fit_to(std::uint64_t bytes) {
  if (bytes > taken_) return grow_to(bytes);
  const std::uint64_t wanted = bytes <= uncounted_bytes ? 0 : in_steps(bytes);
  if (wanted < taken_) all_->give_back(owner_, std::exchange(taken_, wanted) - wanted);
  return true;
}

void ReceivedBody::clear() noexcept {
  if (const std::uint64_t taken = std::exchange(taken_, 0); taken > 0)
    all_->give_back(owner_, taken);
}

}  // namespace cloche::http
