// SPDX-License-Identifier: Apache-2.0
// HMAC with SHA-256, RFC 2104: proves that whoever made it has the key.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/sha256.h"

namespace cloche {

Sha256Digest hmac_sha256(std::span<const std::byte> key, std::string_view text);

}  // namespace cloche
