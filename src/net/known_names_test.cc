// SPDX-License-Identifier: Apache-2.0
#include "net/known_names.h"

#include <gtest/gtest.h>

namespace cloche::net {
namespace {

kernel::IpAddress address(std::uint32_t number) {
  return kernel::IpAddress::v4({10, static_cast<std::uint8_t>(number >> 16),
                                static_cast<std::uint8_t>(number >> 8),
                                static_cast<std::uint8_t>(number)});
}

TEST(KnownNames, AnAddressHasTheNamesThatLedToIt) {
  KnownNames names;
  names.learn(address(1), "a.test");
  names.learn(address(1), "b.test");
  names.learn(address(1), "a.test");
  names.learn(address(2), "c.test");
  EXPECT_EQ(names.of(address(1)), (std::set<std::string>{"a.test", "b.test"}));
  EXPECT_EQ(names.of(address(2)), std::set<std::string>{"c.test"});
  EXPECT_TRUE(names.of(address(3)).empty());
}

TEST(KnownNames, OfTooManyNamesTheLatestStay) {
  KnownNames names;
  names.learn(address(1), "first.test");
  names.learn(address(1), "second.test");
  for (std::size_t i = 2; i < KnownNames::max_names; ++i)
    names.learn(address(1), std::to_string(i) + ".test");
  names.learn(address(1), "first.test");  // asked for again
  names.learn(address(1), "last.test");
  const std::set<std::string> known = names.of(address(1));
  EXPECT_EQ(known.size(), KnownNames::max_names);
  EXPECT_TRUE(known.contains("first.test"));
  EXPECT_FALSE(known.contains("second.test"));
  EXPECT_TRUE(known.contains("last.test"));
}

// A crawler's last page is reached like its first, and many names of many addresses are as few.
TEST(KnownNames, OfTooManyAddressesTheLatestStay) {
  KnownNames names;
  for (std::uint32_t i = 0; i <= KnownNames::max_pairs; ++i) names.learn(address(i), "many.test");
  EXPECT_TRUE(names.of(address(0)).empty());
  EXPECT_FALSE(names.of(address(1)).empty());
  EXPECT_FALSE(names.of(address(KnownNames::max_pairs)).empty());
  for (std::uint32_t name = 0; name < KnownNames::max_names; ++name) {
    for (std::uint32_t i = 0; i < 1000; ++i) names.learn(address(i), std::to_string(name));
  }
  std::size_t known = 0;
  for (std::uint32_t i = 0; i <= KnownNames::max_pairs; ++i) known += names.of(address(i)).size();
  EXPECT_EQ(known, KnownNames::max_pairs);
}

}  // namespace
}  // namespace cloche::net
