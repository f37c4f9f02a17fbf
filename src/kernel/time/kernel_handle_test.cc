// SPDX-License-Identifier: Apache-2.0
#include "kernel/time/kernel_handle.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <thread>

namespace cloche::kernel {
namespace {

bool is_held(KernelMutex& mutex) {
  bool held = true;
  std::thread([&] {
    if (!mutex.try_lock()) return;
    held = false;
    mutex.unlock();
  }).join();
  return held;
}

struct Ends {
  int count = 0;
  int under_lock = 0;
};

// Notes at its end whether somebody holds the lock.
class Noting {
 public:
  Noting(KernelMutex& mutex, Ends& ends) : mutex_(mutex), ends_(ends) {}
  ~Noting() {
    ++ends_.count;
    if (is_held(mutex_)) ++ends_.under_lock;
  }
  Noting(const Noting&) = delete;
  Noting& operator=(const Noting&) = delete;

 private:
  KernelMutex& mutex_;
  Ends& ends_;
};

TEST(KernelHandle, LetsGoUnderTheLockAtItsEnd) {
  KernelMutex mutex;
  Ends ends;
  {
    const KernelHandle handle(mutex, std::make_unique<Noting>(mutex, ends));
  }
  EXPECT_EQ(ends.count, 1);
  EXPECT_EQ(ends.under_lock, 1);
  EXPECT_FALSE(is_held(mutex));
}

TEST(KernelHandle, LetsGoUnderTheLockAtAReset) {
  KernelMutex mutex;
  Ends ends;
  KernelHandle handle(mutex, std::make_shared<Noting>(mutex, ends));
  EXPECT_TRUE(handle);
  handle.reset();
  EXPECT_FALSE(handle);
  EXPECT_EQ(ends.count, 1);
  EXPECT_EQ(ends.under_lock, 1);
  EXPECT_FALSE(is_held(mutex));
}

TEST(KernelHandle, LetsGoOfWhatItHeldWhenItHoldsAnother) {
  KernelMutex mutex;
  Ends first;
  Ends second;
  KernelHandle handle(mutex, std::make_shared<Noting>(mutex, first));
  {
    const KernelLock lock(mutex);
    handle.hold(std::make_shared<Noting>(mutex, second));
  }
  EXPECT_EQ(first.under_lock, 1);
  EXPECT_EQ(second.count, 0);
  handle.reset();
  EXPECT_EQ(second.under_lock, 1);
}

TEST(KernelHandle, IsOneReferenceOfSeveral) {
  KernelMutex mutex;
  Ends ends;
  const auto kept = std::make_shared<Noting>(mutex, ends);
  KernelHandle handle(mutex, kept);
  handle.reset();
  EXPECT_EQ(ends.count, 0);
}

TEST(KernelHandle, HoldsAnArrayToo) {
  KernelMutex mutex;
  Ends ends;
  KernelHandle<std::array<std::shared_ptr<Noting>, 2>> handle(
      mutex, {std::make_shared<Noting>(mutex, ends), std::make_shared<Noting>(mutex, ends)});
  handle.reset();
  EXPECT_EQ(ends.count, 2);
  EXPECT_EQ(ends.under_lock, 2);
}

}  // namespace
}  // namespace cloche::kernel
