// SPDX-License-Identifier: Apache-2.0
#include "doors/ssh/public_key.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/base64.h"
#include "doors/ssh/packet.h"

namespace cloche::ssh {
namespace {

std::string packed(std::string_view type, char fill) {
  return to_base64(PacketWriter().string(type).string(std::string(32, fill)).bytes());
}

std::string line(char fill) { return "ssh-ed25519 " + packed("ssh-ed25519", fill); }

TEST(PublicKey, ALineOfOpenSshIsOne) {
  EXPECT_TRUE(is_public_key(line('a')));
  EXPECT_TRUE(is_public_key(line('a') + " me@my machine"));
  EXPECT_TRUE(is_public_key("  " + line('a') + "\n"));
}

TEST(PublicKey, AnythingElseIsNone) {
  EXPECT_FALSE(is_public_key(""));
  EXPECT_FALSE(is_public_key("ssh-ed25519"));
  EXPECT_FALSE(is_public_key("ssh-ed25519 !!!!"));
  EXPECT_FALSE(is_public_key("ssh-unheard-of " + packed("ssh-unheard-of", 'a')));
  EXPECT_FALSE(is_public_key("ssh-rsa " + packed("ssh-ed25519", 'a'))) << "two types";
  EXPECT_FALSE(is_public_key(line('a') + std::string(16 << 10, ' '))) << "too long a line";
}

TEST(PublicKey, TheSameKeyIsThatOfItsBytes) {
  EXPECT_TRUE(are_same_keys(line('a'), line('a')));
  EXPECT_TRUE(are_same_keys(line('a') + " with a comment", line('a')));
  EXPECT_FALSE(are_same_keys(line('b'), line('a')));
  EXPECT_FALSE(are_same_keys("no key", line('a')));
  EXPECT_FALSE(are_same_keys(line('a'), ""));
  EXPECT_FALSE(are_same_keys("", ""));
}

}  // namespace
}  // namespace cloche::ssh
