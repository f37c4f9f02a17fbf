// SPDX-License-Identifier: Apache-2.0
// FileServer: Cloche's hand in the files of a box. A process inside, behind the same wall as the
// guest, so that it can do no more than that: paths, links and races at them are the box's own
// affair. Only regular files are read and written; what is no file is never waited for.
#pragma once

#include "native/warden/filter.h"
#include "native/warden/wall.h"

namespace cloche::warden {

// Answers FileRequests on the channel until Cloche closes it. Without an answer the wall could not
// be put up.
[[noreturn]] void serve_files(int channel, const WallPlan& wall, const Filter& filter) noexcept;

}  // namespace cloche::warden
