// SPDX-License-Identifier: Apache-2.0
// A magic link to what a descriptor of this process refers to, whatever its names are.
#pragma once

#include <string>

#include "base/unique_fd.h"

namespace cloche {

inline std::string descriptor_path(int fd) { return "/proc/self/fd/" + std::to_string(fd); }
inline std::string descriptor_path(const UniqueFd& fd) { return descriptor_path(fd.get()); }

}  // namespace cloche
