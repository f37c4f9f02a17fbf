// SPDX-License-Identifier: Apache-2.0
#include "sandbox/native/kept_image.h"

#include <sys/stat.h>

#include <utility>

#include "base/host_error.h"

namespace cloche::sandbox {
namespace {

bool may_be_kept(const UniqueFd& image) {
  struct stat of{};
  return ::fstat(image.get(), &of) == 0 &&
         static_cast<std::uint64_t>(of.st_size) <= KeptImage::most_bytes;
}

}  // namespace

SharedFile KeptImage::get() const {
  const MutexLock lock(mutex_);
  return image_;
}

// What is let go is closed without the lock: that takes the longer the larger it is.
void KeptImage::keep(SharedFile image) {
  if (!image || !may_be_kept(*image)) return forget();
  SharedFile before;
  const MutexLock lock(mutex_);
  before = let_go();
  try {
    timer_ = timers_.add(timers_.clock().steady() + rest, this, [this, time = times_] {
      SharedFile rested;
      const MutexLock own_lock(mutex_);
      if (times_ == time) rested = let_go();
    });
  } catch (const HostError&) {  // nobody would let it go
    return;
  }
  image_ = std::move(image);
}

// Not here, where somebody waits.
void KeptImage::forget() {
  SharedFile image;
  {
    const MutexLock lock(mutex_);
    image = let_go();
  }
  if (!image) return;
  try {
    timers_.add(timers_.clock().steady(), nullptr, [image = std::move(image)] {});
  } catch (const HostError&) {
    return;
  }
}

SharedFile KeptImage::let_go() {
  (void)timers_.cancel(timer_);
  ++times_;
  return std::move(image_);
}

}  // namespace cloche::sandbox
