// SPDX-License-Identifier: Apache-2.0
#include "python/json_text.h"

namespace cloche::python {

std::optional<Json> read_json(std::string_view text) {
  constexpr JsonBounds bounds{
      .depth = 200, .values = 4'000'000, .repeated = RepeatedNames::last_wins};
  auto read = cloche::read_json<Json>(text, bounds);
  if (std::holds_alternative<JsonProblem>(read)) return std::nullopt;
  return std::get<Json>(std::move(read));
}

}  // namespace cloche::python
