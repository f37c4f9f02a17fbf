// JSON that a guest or a callback wrote: read under a bound on its depth, so that nothing that
// walks it can run out of stack.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace cloche::python {

using Json = nlohmann::ordered_json;

// Nothing for what is no JSON, or is nested deeper than 200 levels.
std::optional<Json> read_json(std::string_view text);
// As text; what is not UTF-8 becomes replacement characters.
std::string write_json(const Json& value);

}  // namespace cloche::python
