// SPDX-License-Identifier: Apache-2.0
// Bodies that a client has packed: gzip (RFC 1952).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cloche::e2b {

enum class GzipFault : std::uint8_t {
  malformed,  // it is none, is cut short, or does not have the checksum that it says
  too_large,  // than the limit, unpacked
  no_room,
};

// `has_room` is asked before the text may have so many bytes.
Result<std::string, GzipFault> unpack_gzip(
    std::string_view packed, std::uint64_t limit_bytes,
    const std::function<bool(std::uint64_t bytes)>& has_room);

}  // namespace cloche::e2b
