// SPDX-License-Identifier: Apache-2.0
// The words of a field that is a list: "Connection: keep-alive, Upgrade".
#pragma once

#include <string_view>
#include <vector>

#include "doors/http/message.h"

namespace cloche::http {

// In order, without the blanks around them, of all fields of that name; empty ones are left out.
// They are within `fields`.
std::vector<std::string_view> field_words(const Fields& fields, std::string_view name);

// Whether it is one of them, in any case.
bool has_word(const Fields& fields, std::string_view name, std::string_view word);

}  // namespace cloche::http
