// SPDX-License-Identifier: Apache-2.0
#include "base/descriptor_share.h"

#include <sys/resource.h>

namespace cloche {

bool is_beyond_guests_share(const UniqueFd& fd) noexcept {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
         static_cast<rlim_t>(fd.get()) >= limit.rlim_cur / 4 * 3;
}

}  // namespace cloche
