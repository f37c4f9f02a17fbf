// SPDX-License-Identifier: Apache-2.0
// A step as the client asks for it, checked as FastAPI and pydantic check it: the same errors, in
// the same order, to the byte.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "doors/http/message.h"
#include "sandbox/language.h"

namespace cloche::steps {

using sandbox::Language;

struct StepRequest {
  std::string sandbox_id;
  Language language = Language::bash;
  std::string source;
};

// The step, or the answer that says what is wrong with it.
std::variant<StepRequest, http::Response> parse_step(std::string_view content_type,
                                                     std::string_view body);

}  // namespace cloche::steps
