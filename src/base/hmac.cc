// SPDX-License-Identifier: Apache-2.0
#include "base/hmac.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/check.h"

namespace cloche {

Sha256Digest hmac_sha256(std::span<const std::byte> key, std::string_view text) {
  prepare_sha256();
  Sha256Digest digest{};
  CLOCHE_CHECK(::HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                      reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                      digest.data(), nullptr) != nullptr);
  return digest;
}

}  // namespace cloche
