// SPDX-License-Identifier: Apache-2.0
// Bodies that a client has packed: gzip (RFC 1952).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cloche::e2b {

// Nothing where it is none, is cut short, does not have the checksum that it says, or is larger
// than the limit unpacked.
std::optional<std::string> unpack_gzip(std::string_view packed, std::uint64_t limit_bytes);

}  // namespace cloche::e2b
