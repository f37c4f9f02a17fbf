// SPDX-License-Identifier: Apache-2.0
// SignedAddress: an address of /files that has in it by what right it is asked: a signature with
// the token of a sandbox, for one path, one use and a time. Which sandbox it is of, nobody says:
// each is asked, so what is long in it is hashed once. Immutable.
#pragma once

#include <string>
#include <string_view>

#include "base/sha256.h"
#include "doors/e2b/boxes.h"
#include "doors/http/message.h"

namespace cloche::e2b {

enum class Signature : std::uint8_t { good, wrong, expired };

class SignedAddress {
 public:
  explicit SignedAddress(const http::Request& request);

  // Whether the signature is of this sandbox.
  Signature of(const Box& box) const;
  // The running sandbox that it is of, expired or not; null where there is none.
  BoxPtr find_signer(const Boxes& boxes) const;

  // v1_ and base64 without padding of the SHA-256 of PATH:OPERATION:NAME:TOKEN[:EXPIRATION].
  std::string signature_with(std::string_view token) const;

 private:
  std::string signature_;
  std::string expiration_;
  Sha256 begin_;  // of PATH:OPERATION:NAME:
};

}  // namespace cloche::e2b
