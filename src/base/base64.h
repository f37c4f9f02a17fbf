// SPDX-License-Identifier: Apache-2.0
// Bytes as text of 64 letters: RFC 4648, section 4.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cloche {

// With padding.
std::string to_base64(std::string_view bytes);

// With or without padding; nothing for any other character, or a length that no bytes have.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace cloche
