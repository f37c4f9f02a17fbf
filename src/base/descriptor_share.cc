// SPDX-License-Identifier: Apache-2.0
#include "base/descriptor_share.h"

#include <sys/resource.h>

#include "base/share_limit.h"

namespace cloche {
namespace {

std::optional<std::size_t> limit_of_this_process() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return std::nullopt;
  return limit.rlim_cur;
}

}  // namespace

DescriptorShare& DescriptorShare::of_this_process() {
  static DescriptorShare share(limit_of_this_process);
  return share;
}

DescriptorShare::Permit::Permit(DescriptorShare& share, std::shared_ptr<Owner> owner) noexcept
    : share_(&share), owner_(std::move(owner)) {
  ++share_->held_;
  if (owner_) ++owner_->descriptors;
}

DescriptorShare::Permit::~Permit() {
  if (!share_) return;
  --share_->held_;
  if (owner_) --owner_->descriptors;
}

std::optional<DescriptorShare::Permit> DescriptorShare::acquire(const UniqueFd& fd,
                                                                std::shared_ptr<Owner> owner) {
  if (const std::optional<std::size_t> limit = limit_()) {
    const std::size_t guests_max = three_quarters(*limit);
    const bool has_most = owner && owner->descriptors > held_ / 2;
    if (static_cast<std::size_t>(fd.get()) >= (has_most ? three_quarters(guests_max) : guests_max))
      return std::nullopt;
  }
  return std::make_optional<Permit>(*this, std::move(owner));
}

}  // namespace cloche
