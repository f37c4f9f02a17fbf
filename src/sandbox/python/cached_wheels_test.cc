// SPDX-License-Identifier: Apache-2.0
#include "sandbox/python/cached_wheels.h"

#include <gtest/gtest.h>

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
  Sha256 digest;
  digest.add(content);
  wheel.sha256 = digest.end();
  return wheel;
}

class CachedWheelsTest : public ::testing::Test {
 protected:
  // Whether the sandbox `wheels` may give a file of so many bytes.
  bool may_keep(CachedWheels& wheels, std::string_view name, std::uint64_t bytes) {
    const kernel::KernelLock lock(machine_.kernel().mutex());
    const auto opened = wheels.open(wheel_of(name, bytes));
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

TEST_F(CachedWheelsTest, WhatNobodyHasKeptIsNotThere) {
  CachedWheels wheels(&cache_);
  EXPECT_FALSE(may_keep(wheels, "a", 0));
  CachedWheels without(nullptr);
  EXPECT_FALSE(may_keep(without, "a", 0));
  EXPECT_FALSE(may_keep(without, "a", 1));
}

}  // namespace
}  // namespace cloche::sandbox
