// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace cloche::base {

void check_failed(const char* file, int line, const char* what) noexcept {
  std::fprintf(stderr, "cloche: internal error: %s:%d: check failed: %s\n", file, line, what);
  std::abort();
}

}  // namespace cloche::base
