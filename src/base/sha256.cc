// SPDX-License-Identifier: Apache-2.0
#include "base/sha256.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <utility>

#include "base/check.h"

namespace cloche {

struct Sha256::Context {
  EVP_MD_CTX* evp = EVP_MD_CTX_new();
  ~Context() { EVP_MD_CTX_free(evp); }
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  prepare_sha256();
  CLOCHE_CHECK(context_->evp != nullptr);
  CLOCHE_CHECK(EVP_DigestInit_ex(context_->evp, EVP_sha256(), nullptr) == 1);
}

Sha256::Sha256(std::unique_ptr<Context> context) : context_(std::move(context)) {}
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256::~Sha256() = default;

Sha256 Sha256::copy() const {
  auto context = std::make_unique<Context>();
  CLOCHE_CHECK(context->evp != nullptr && EVP_MD_CTX_copy_ex(context->evp, context_->evp) == 1);
  return Sha256(std::move(context));
}

void Sha256::add(std::span<const std::byte> bytes) {
  CLOCHE_CHECK(EVP_DigestUpdate(context_->evp, bytes.data(), bytes.size()) == 1);
}

Sha256Digest Sha256::end() {
  Sha256Digest digest{};
  CLOCHE_CHECK(EVP_DigestFinal_ex(context_->evp, digest.data(), nullptr) == 1);
  return digest;
}

Sha256Digest sha256(std::span<const std::byte> bytes) {
  prepare_sha256();
  Sha256Digest digest{};
  CLOCHE_CHECK(
      EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, EVP_sha256(), nullptr) == 1);
  return digest;
}

void prepare_sha256() {
  // The host's openssl.cnf has no say here, and reading it takes a millisecond.
  static const int ready = OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
  CLOCHE_CHECK(ready == 1);
}

}  // namespace cloche
