// SPDX-License-Identifier: Apache-2.0
// Random bytes of the host's kernel, fit for secrets, and names made of them. Thread-safe; it never
// fails, and waits only while a host that has just started has none yet.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace cloche {

void fill_random(std::span<std::byte> to);

// Of that many random bytes: twice as many hexadecimal digits.
std::string random_hex(std::size_t bytes);

// RFC 9562, version 4, of these bytes (six bits of which are given), and of random ones.
std::string uuid_of(std::array<std::uint8_t, 16> bytes);
std::string random_uuid();

}  // namespace cloche
