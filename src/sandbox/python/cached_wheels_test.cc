// SPDX-License-Identifier: Apache-2.0
#include "sandbox/python/cached_wheels.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/sha256.h"
#include "base/temp_dir_testing.h"
#include "kernel/kernel.h"
#include "kernel/kernel_testing.h"

namespace cloche::sandbox {
namespace {

constexpr std::uint64_t cache_bytes = 400;  // of which one sandbox may give a quarter

python::CachedWheel wheel_of(std::string_view content, std::uint64_t bytes_to_keep) {
  python::CachedWheel wheel{.origin = "https://index.test:443",
                            .address = "https://index.test/" + std::string(content) + ".whl",
                            .bytes_to_keep = bytes_to_keep};
  wheel.sha256 = sha256(content);
  return wheel;
}

class CachedWheelsTest : public ::testing::Test {
 protected:
  // Whether the sandbox `wheels` may give a file of so many bytes.
  bool may_keep(CachedWheels& wheels, std::string_view name, std::uint64_t bytes) {
    const kernel::KernelLock lock(machine_.kernel().mutex());
    const auto opened = wheels.open(wheel_of(name, bytes), nullptr);
    EXPECT_TRUE(opened || opened.error() == Errno::noent);
    return static_cast<bool>(opened);
  }

  TempDir folder_;
  packages::WheelCache cache_{folder_.path(), cache_bytes};
  kernel::TestKernel machine_;
};

TEST_F(CachedWheelsTest, OneSandboxGivesItsShareAndNoMore) {
  CachedWheels wheels(&cache_);
  EXPECT_FALSE(may_keep(wheels, "a", 101));
  EXPECT_TRUE(may_keep(wheels, "a", 60));
  EXPECT_FALSE(may_keep(wheels, "b", 41));
  EXPECT_TRUE(may_keep(wheels, "b", 40));
  EXPECT_FALSE(may_keep(wheels, "c", 1));
  CachedWheels of_another(&cache_);
  EXPECT_TRUE(may_keep(of_another, "c", 100));
}

TEST_F(CachedWheelsTest, OneSandboxGivesSoManyFiles) {
  CachedWheels wheels(&cache_);
  for (std::uint64_t i = 0; i < cache_.share_files(); ++i)
    EXPECT_TRUE(may_keep(wheels, std::to_string(i), 1));
  EXPECT_FALSE(may_keep(wheels, "x", 1));
}

TEST_F(CachedWheelsTest, FewAreOpenAtATime) {
  {
    const auto deposit = cache_.begin(
        {"https://index.test:443", wheel_of("w", 0).address, wheel_of("w", 0).sha256}, 1);
    ASSERT_TRUE(deposit && deposit->write(std::as_bytes(std::span("w", 1))));
  }
  CachedWheels wheels(&cache_);
  const kernel::KernelLock lock(machine_.kernel().mutex());
  std::vector<kernel::FilePtr> open;
  open.reserve(CachedWheels::open_max);
  for (std::uint32_t i = 0; i < CachedWheels::open_max; ++i)
    open.push_back(*wheels.open(wheel_of("w", 0), nullptr));
  EXPECT_EQ(wheels.open(wheel_of("w", 0), nullptr).error(), Errno::noent);
  open.pop_back();
  EXPECT_TRUE(wheels.open(wheel_of("w", 0), nullptr));
}

TEST_F(CachedWheelsTest, WhatNobodyHasKeptIsNotThere) {
  CachedWheels wheels(&cache_);
  EXPECT_FALSE(may_keep(wheels, "a", 0));
  CachedWheels without(nullptr);
  EXPECT_FALSE(may_keep(without, "a", 0));
  EXPECT_FALSE(may_keep(without, "a", 1));
}

}  // namespace
}  // namespace cloche::sandbox
