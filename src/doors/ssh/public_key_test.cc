// SPDX-License-Identifier: Apache-2.0
#include "doors/ssh/public_key.h"

#include <gtest/gtest.h>
#include <libssh/libssh.h>

#include <memory>
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
  ssh_key key = nullptr;
  ASSERT_EQ(
      ::ssh_pki_import_pubkey_base64(packed("ssh-ed25519", 'a').c_str(), SSH_KEYTYPE_ED25519, &key),
      SSH_OK);
  const std::unique_ptr<ssh_key_struct, decltype(&::ssh_key_free)> owned(key, ::ssh_key_free);
  EXPECT_TRUE(is_same_key(line('a'), key));
  EXPECT_TRUE(is_same_key(line('a') + " with a comment", key));
  EXPECT_FALSE(is_same_key(line('b'), key));
  EXPECT_FALSE(is_same_key("no key", key));
}

}  // namespace
}  // namespace cloche::ssh
