// SPDX-License-Identifier: Apache-2.0
// CachedWheels: the cache of wheels (packages::WheelCache) as files that the guests of one sandbox
// read and write. What the sandbox gives to the cache has a bound of its own, so that it cannot
// push out what others use.
#pragma once

#include <cstdint>

#include "packages/wheel_cache.h"
#include "python/host_services.h"

namespace cloche::sandbox {

class CachedWheels {
 public:
  // `cache` outlives it, and the files that it opens; null: there is none.
  explicit CachedWheels(packages::WheelCache* cache) : cache_(cache) {}

  // See python::HostServices::open_wheel.
  Result<kernel::FilePtr> open(const python::CachedWheel& wheel) REQUIRES(kernel::kernel_lock);

 private:
  packages::WheelCache* const cache_;
  std::uint64_t given_bytes_ GUARDED_BY(kernel::kernel_lock) = 0;
};

}  // namespace cloche::sandbox
