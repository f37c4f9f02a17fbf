// SPDX-License-Identifier: Apache-2.0
#include "base/host_error.h"

#include <system_error>

namespace cloche {

HostError HostError::from_errno(const std::string& step, int host_errno) {
  return HostError(step + ": " + std::generic_category().message(host_errno),
                   errno_from_host(host_errno));
}

}  // namespace cloche
