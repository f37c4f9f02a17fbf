// SPDX-License-Identifier: Apache-2.0
// How a step of making a box went.
#pragma once

#include <cerrno>

#include "native/warden/wire.h"

namespace cloche::warden {

struct [[nodiscard]] Outcome {
  Step failed = Step::none;
  int error = 0;
  explicit operator bool() const noexcept { return failed == Step::none; }
};

// What the last call of the C library gave for `step`: less than zero is its errno.
inline Outcome outcome_of(Step step, long result) noexcept {
  return result < 0 ? Outcome{step, errno} : Outcome{};
}

}  // namespace cloche::warden

#define CLOCHE_STEP(step, call)                                                      \
  do {                                                                               \
    if (auto cloche_done = outcome_of(step, call); !cloche_done) return cloche_done; \
  } while (false)
