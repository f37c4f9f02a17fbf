// SPDX-License-Identifier: Apache-2.0
// The cache of wheels (packages::WheelCache) as files that a guest reads and writes.
#pragma once

#include <functional>

#include "kernel/kernel_options.h"
#include "packages/wheel_cache.h"

namespace cloche::sandbox {

// For kernel::KernelOptions::wheels, of one sandbox: what it gives to the cache has a bound of its
// own, so that it cannot push out what others use. `cache` outlives the kernel; null: there is
// none.
std::function<Result<kernel::FilePtr>(const kernel::CachedWheel&)> wheels_of(
    packages::WheelCache* cache);

}  // namespace cloche::sandbox
