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

std::optional<DescriptorShare::Permit> DescriptorShare::acquire(const UniqueFd& fd,
                                                                std::shared_ptr<Owner> owner) {
  if (const std::optional<std::size_t> limit = limit_()) {
    const std::size_t guests_max = three_quarters(*limit);
    const std::size_t most = count_.has_most(owner) ? three_quarters(guests_max) : guests_max;
    if (static_cast<std::size_t>(fd.get()) >= most) return std::nullopt;
  }
  return std::make_optional<Permit>(count_, std::move(owner));
}

}  // namespace cloche
