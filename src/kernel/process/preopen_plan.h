// SPDX-License-Identifier: Apache-2.0
// Which directories a WASI program finds open when it starts, and at which numbers; see preopens.h.
#pragma once

#include <cstdint>

namespace cloche::kernel::wasi {

enum class PreopenSet : std::uint8_t { root_and_cwd, root };

struct PreopenPlan {
  PreopenSet set = PreopenSet::root_and_cwd;
  // A program that starts from a boot image has the numbers in its memory: it needs them where they
  // were, so its plan names a number that nobody inherits.
  std::int32_t first_fd = 3;
};

}  // namespace cloche::kernel::wasi
