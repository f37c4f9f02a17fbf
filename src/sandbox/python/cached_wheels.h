// SPDX-License-Identifier: Apache-2.0
// CachedWheels: the cache of wheels (packages::WheelCache) as files that the guests of one sandbox
// read and write. What the sandbox gives to the cache has a bound of its own, so that it cannot
// push out what others use. Each that is open holds a descriptor of the host, so few are at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "packages/wheel_cache.h"
#include "python/host_services.h"

namespace cloche::sandbox {

class CachedWheels {
 public:
  static constexpr std::uint32_t open_max = 16;

  // `cache` outlives it, and the files that it opens; null: there is none.
  explicit CachedWheels(packages::WheelCache* cache) : cache_(cache) {}

  // See python::HostServices::open_wheel.
  Result<kernel::FilePtr> open(const python::CachedWheel& wheel,
                               const std::shared_ptr<Owner>& owner) REQUIRES(kernel::kernel_lock);

 private:
  packages::WheelCache* const cache_;
  // How many are open; files may live longer than this does.
  const std::shared_ptr<std::atomic<std::uint32_t>> open_ =
      std::make_shared<std::atomic<std::uint32_t>>(0);
  std::uint64_t given_files_ GUARDED_BY(kernel::kernel_lock) = 0;
  std::uint64_t given_bytes_ GUARDED_BY(kernel::kernel_lock) = 0;
};

}  // namespace cloche::sandbox
