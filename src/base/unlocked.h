// SPDX-License-Identifier: Apache-2.0
// Unlocked: gives a held mutex up for a scope, and takes it back however the scope is left.
//
//   {
//     const Unlocked unlocked(kernel.mutex());
//     sleep();
//   }
#pragma once

namespace cloche {

template <typename Mutex>
class Unlocked {
 public:
  explicit Unlocked(Mutex& mutex) : mutex_(mutex) { mutex_.unlock(); }
  ~Unlocked() { mutex_.lock(); }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace cloche
