// SPDX-License-Identifier: Apache-2.0
// What stands before an answer's body.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "doors/http/message.h"

namespace cloche::http {

enum class Persistence { close, keep_alive };

struct HeadFacts {
  unsigned version = 11;  // of the request: 10 or 11
  Persistence persistence = Persistence::keep_alive;
  std::optional<std::size_t> content_length;
  bool chunked = false;
};

// The status line and the fields, `more` among them, with the empty line. A field whose name or
// value would be more than one is left out.
std::string response_head(const Response& response, const Fields& more, const HeadFacts& facts);

}  // namespace cloche::http
