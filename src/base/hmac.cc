// SPDX-License-Identifier: Apache-2.0
#include "base/hmac.h"

#include <algorithm>

#include "base/check.h"

namespace cloche {

std::array<std::uint8_t, Sha256::size> hmac_sha256(std::span<const std::byte> key,
                                                   std::string_view text) {
  constexpr std::size_t block = 64;
  CLOCHE_CHECK(key.size() <= block);
  const auto padded = [&](std::byte with) {
    std::array<std::byte, block> bytes{};
    std::ranges::copy(key, bytes.begin());
    for (std::byte& byte : bytes) byte ^= with;
    return bytes;
  };
  Sha256 inner;
  inner.add(padded(std::byte{0x36}));
  inner.add(text);
  const auto inner_digest = inner.end();
  Sha256 outer;
  outer.add(padded(std::byte{0x5c}));
  outer.add(std::as_bytes(std::span(inner_digest)));
  return outer.end();
}

}  // namespace cloche
