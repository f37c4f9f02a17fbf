// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"

#include <cstdio>
#include <cstdlib>

#include "cloche/result.h"

namespace cloche::base {

void check_failed(const char* file, int line, const char* what) noexcept {
  std::fprintf(stderr, "cloche: internal error: %s:%d: check failed: %s\n", file, line, what);
  std::abort();
}

void result_misread(const char* what) noexcept {
  std::fprintf(stderr, "cloche: internal error: it was asked for %s\n", what);
  std::abort();
}

}  // namespace cloche::base
