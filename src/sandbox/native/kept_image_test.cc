// SPDX-License-Identifier: Apache-2.0
#include "sandbox/native/kept_image.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <future>

#include "base/clock_testing.h"

namespace cloche::sandbox {
namespace {

using std::chrono::milliseconds;

SharedFile image_of(std::uint64_t bytes) {
  UniqueFd file(::memfd_create("image", MFD_CLOEXEC));
  EXPECT_EQ(::ftruncate(file.get(), static_cast<off_t>(bytes)), 0);
  return std::make_shared<const UniqueFd>(std::move(file));
}

class KeptImageTest : public ::testing::Test {
 protected:
  // All that is due then has been done.
  void pass(milliseconds by) {
    std::promise<void> done;
    timers_.add(clock_.steady() + by, nullptr, [&] { done.set_value(); });
    clock_.advance(by);
    done.get_future().wait();
  }

  ManualClock clock_;
  kernel::TimerThread timers_{clock_};
  KeptImage kept_{timers_};
};

TEST_F(KeptImageTest, IsThereUntilItIsForgotten) {
  EXPECT_EQ(kept_.get(), nullptr);
  const SharedFile image = image_of(1);
  kept_.keep(image);
  EXPECT_EQ(kept_.get(), image);
  EXPECT_EQ(kept_.get(), image);
  kept_.forget();
  EXPECT_EQ(kept_.get(), nullptr);
  pass(milliseconds(0));
  EXPECT_EQ(image.use_count(), 1);
}

TEST_F(KeptImageTest, IsTheLastOne) {
  const SharedFile first = image_of(1), second = image_of(1);
  kept_.keep(first);
  kept_.keep(second);
  EXPECT_EQ(kept_.get(), second);
  EXPECT_EQ(first.use_count(), 1);
}

TEST_F(KeptImageTest, GoesWhereNobodyWantsItForLong) {
  const SharedFile image = image_of(1);
  kept_.keep(image);
  pass(KeptImage::rest / 2);
  kept_.keep(image);  // it is wanted
  pass(KeptImage::rest - milliseconds(1));
  EXPECT_EQ(kept_.get(), image);
  pass(milliseconds(1));
  EXPECT_EQ(kept_.get(), nullptr);
  EXPECT_EQ(image.use_count(), 1);
  EXPECT_EQ(timers_.size(), 0U);
}

TEST_F(KeptImageTest, IsNoneThatIsLarge) {
  const SharedFile image = image_of(KeptImage::most_bytes);
  kept_.keep(image);
  EXPECT_EQ(kept_.get(), image);
  kept_.keep(image_of(KeptImage::most_bytes + 1));
  EXPECT_EQ(kept_.get(), nullptr);
}

}  // namespace
}  // namespace cloche::sandbox
