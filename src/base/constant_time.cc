// SPDX-License-Identifier: Apache-2.0
#include "base/constant_time.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <array>

namespace cloche {

bool is_same_secret(std::string_view a, std::string_view b) {
  using Digest = std::array<unsigned char, SHA256_DIGEST_LENGTH>;
  Digest left;
  Digest right;
  ::SHA256(reinterpret_cast<const unsigned char*>(a.data()), a.size(), left.data());
  ::SHA256(reinterpret_cast<const unsigned char*>(b.data()), b.size(), right.data());
  return ::CRYPTO_memcmp(left.data(), right.data(), left.size()) == 0;
}

bool is_same_digest(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace cloche
