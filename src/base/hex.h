// SPDX-License-Identifier: Apache-2.0
// Bytes as hexadecimal digits, two a byte; written in lower case.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace cloche {

std::string to_hex(std::span<const std::uint8_t> bytes);

// Of digits in either case, twice as many as `bytes`; false for anything else.
bool from_hex(std::string_view text, std::span<std::uint8_t> bytes);

}  // namespace cloche
