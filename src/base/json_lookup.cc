// SPDX-License-Identifier: Apache-2.0
#include "base/json_lookup.h"

#include <utility>

namespace cloche {

std::optional<Json> parse_json(std::string_view text) {
  auto read = read_json<Json>(text, {.repeated = RepeatedNames::last_wins});
  if (std::holds_alternative<JsonProblem>(read)) return std::nullopt;
  return std::get<Json>(std::move(read));
}

}  // namespace cloche
