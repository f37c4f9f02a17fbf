// SPDX-License-Identifier: Apache-2.0
// HMAC with SHA-256, RFC 2104: proves that whoever made it has the key.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/sha256.h"

namespace cloche {

// `key` has 64 bytes at most.
std::array<std::uint8_t, Sha256::size> hmac_sha256(std::span<const std::byte> key,
                                                   std::string_view text);

}  // namespace cloche
