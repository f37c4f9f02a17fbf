// SPDX-License-Identifier: Apache-2.0
#include "doors/rpc/json_reader.h"

namespace cloche::rpc {

std::variant<Json, RpcError> read_json(std::string_view text, Json* id) {
  constexpr JsonBounds bounds{.depth = depth_limit, .values = value_limit};
  auto read = cloche::read_json<Json>(text, bounds, "id", id);
  auto* problem = std::get_if<JsonProblem>(&read);
  if (problem == nullptr) return std::get<Json>(std::move(read));
  return RpcError{
      problem->kind == JsonProblem::Kind::not_json ? code::parse_error : code::invalid_request,
      std::move(problem->sentence)};
}

}  // namespace cloche::rpc
