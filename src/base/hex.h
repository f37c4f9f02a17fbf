// Bytes as lower-case hexadecimal digits, two a byte.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace cloche {

std::string to_hex(std::span<const std::uint8_t> bytes);

}  // namespace cloche
