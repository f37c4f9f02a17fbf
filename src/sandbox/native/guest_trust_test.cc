// SPDX-License-Identifier: Apache-2.0
#include "sandbox/native/guest_trust.h"

#include <gtest/gtest.h>

namespace cloche::sandbox {
namespace {

constexpr std::string_view mark = "# Cloche: the authority of this sandbox\n";

std::string certificate(std::string_view of) {
  return "-----BEGIN CERTIFICATE-----\n" + std::string(of) + "\n-----END CERTIFICATE-----\n";
}

TEST(GuestTrust, AnAuthorityComesLastAndOnce) {
  const std::string own = certificate("own"), old = certificate("old"), root = certificate("root");
  const std::string marked = std::string(mark) + own;
  EXPECT_EQ(with_authority("", own), marked);
  EXPECT_EQ(with_authority(root, own), root + marked);
  EXPECT_EQ(with_authority("no line end", own), "no line end\n" + marked);
  const std::string with_old = with_authority(root, old);
  EXPECT_EQ(with_authority(with_old, own), root + marked);
  EXPECT_EQ(with_authority(with_old + root, own), root + root + marked);
  EXPECT_EQ(with_authority(with_old + with_old, own), root + root + marked);
  EXPECT_EQ(with_authority(root + std::string(mark) + "cut off", own), root + "cut off\n" + marked);
}

}  // namespace
}  // namespace cloche::sandbox
