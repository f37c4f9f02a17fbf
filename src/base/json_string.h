// SPDX-License-Identifier: Apache-2.0
// Text of anybody as strings of JSON: bytes that are not UTF-8 become U+FFFD. Linear in the text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cloche {

// With its quotes.
std::string json_string(std::string_view text);
void append_json_string(std::string& to, std::string_view text);

// What stands between the quotes, piece by piece: appends what `text` is from `at` on, `most_bytes`
// of it or a few more, and gives where the next piece begins.
std::size_t append_json_text(std::string& to, std::string_view text, std::size_t at,
                             std::size_t most_bytes);
// How many bytes that is for the whole text.
std::size_t json_text_size(std::string_view text);

}  // namespace cloche
