// SPDX-License-Identifier: Apache-2.0
// KernelHandle: what the host's side holds of a kernel, a File or a Process for example, and lets
// go of under the kernel lock: the last reference to a File closes it, which wakes others.
//
//   KernelHandle<FilePtr> guest_;     // guest_.reset(), and the end of the handle, take the lock
//
// `Held` is a pointer that owns, or an array of such; one that is made new holds nothing. Threads:
// like the pointer itself, except that reset() may meet others that have the lock. Lifetime: it
// must be gone before its kernel, and no thread ends it with the lock held.
#pragma once

#include <utility>

#include "kernel/time/kernel_lock.h"

namespace cloche::kernel {

template <typename Held>
class KernelHandle {
 public:
  explicit KernelHandle(KernelMutex& mutex, Held held = {})
      : mutex_(mutex), held_(std::move(held)) {}
  ~KernelHandle() EXCLUDES(kernel_lock) { reset(); }
  KernelHandle(const KernelHandle&) = delete;
  KernelHandle& operator=(const KernelHandle&) = delete;

  void reset() EXCLUDES(kernel_lock) {
    const KernelLock lock(mutex_);
    held_ = Held{};
  }
  // In place of what it has held.
  void hold(Held next) REQUIRES(kernel_lock) { held_ = std::move(next); }

  const Held& get() const noexcept { return held_; }
  explicit operator bool() const noexcept { return static_cast<bool>(held_); }
  auto& operator*() const noexcept { return *held_; }
  auto* operator->() const noexcept { return held_.get(); }

 private:
  KernelMutex& mutex_;
  Held held_;
};

}  // namespace cloche::kernel
