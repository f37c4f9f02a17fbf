// SPDX-License-Identifier: Apache-2.0
// Amounts as people write them, for every option, variable and request field of this program.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace cloche {

constexpr std::int64_t ns_per_s = 1'000'000'000;

// "1048576", "512K", "256m", "2G", "1TiB": bytes, in powers of 1024; the unit in either case, with
// or without "B" or "iB". Nothing for any other text, and for more than 64 bits.
std::optional<std::uint64_t> parse_bytes(std::string_view text);

// "1500", "1500ms", "2s", "1.5h", "30m", "7d": a time that is not negative. A number alone counts
// in `unit`. Nothing for any other text, and for more than a hundred years.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text,
                                                        std::chrono::milliseconds unit);

}  // namespace cloche
