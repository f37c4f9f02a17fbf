// SPDX-License-Identifier: Apache-2.0
#include "base/hmac.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/hex.h"

namespace cloche {
namespace {

std::string hmac_of(std::string_view key, std::string_view text) {
  return to_hex(hmac_sha256(std::as_bytes(std::span(key)), text));
}

// The test cases 1, 2 and 4 of RFC 4231.
TEST(Hmac, IsThatOfTheStandard) {
  EXPECT_EQ(hmac_of(std::string(20, '\x0b'), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hmac_of("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  std::string key;
  for (char c = 1; c <= 25; ++c) key.push_back(c);
  EXPECT_EQ(hmac_of(key, std::string(50, '\xcd')),
            "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b");
}

TEST(Hmac, TakesAKeyOfAWholeBlockAndAnEmptyText) {
  EXPECT_NE(hmac_of(std::string(64, 'k'), ""), hmac_of(std::string(63, 'k'), ""));
}

}  // namespace
}  // namespace cloche
