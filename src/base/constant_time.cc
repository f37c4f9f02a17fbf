// SPDX-License-Identifier: Apache-2.0
#include "base/constant_time.h"

#include <openssl/crypto.h>

#include "base/sha256.h"

namespace cloche {

bool is_same_secret(std::string_view a, std::string_view b) {
  const Sha256Digest left = sha256(a);
  const Sha256Digest right = sha256(b);
  return ::CRYPTO_memcmp(left.data(), right.data(), left.size()) == 0;
}

bool is_same_digest(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace cloche
