// SPDX-License-Identifier: Apache-2.0
#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace cloche {
namespace {

Result<int> half(int n) {
  if (n % 2 != 0) return Errno::inval;
  return n / 2;
}

Result<std::string> describe(int n) {
  CLOCHE_ASSIGN(const int h, half(n));
  return std::to_string(h);
}

TEST(Result, HoldsAValueOrAnErrno) {
  EXPECT_EQ(*half(4), 2);
  EXPECT_EQ(half(3).error(), Errno::inval);
}

TEST(Result, AssignPassesTheErrorOn) {
  EXPECT_EQ(*describe(8), "4");
  EXPECT_EQ(describe(9).error(), Errno::inval);
}

TEST(Result, CarriesMoveOnlyValues) {
  Result<std::unique_ptr<int>> r = std::make_unique<int>(5);
  const std::unique_ptr<int> p = *std::move(r);
  EXPECT_EQ(*p, 5);
}

TEST(Errno, TableNamesEachCodeOnce) {
  EXPECT_EQ(errno_info(Errno::noent).name, "ENOENT");
  EXPECT_EQ(errno_info(Errno::noent).wasi, 44);
  EXPECT_EQ(errno_info(static_cast<Errno>(400)).name, "EIO");
  EXPECT_EQ(errno_from_host(13), Errno::acces);
  EXPECT_EQ(errno_from_host(-1), Errno::io);
}

}  // namespace
}  // namespace cloche
