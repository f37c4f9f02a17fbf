// SPDX-License-Identifier: Apache-2.0
// JSON that a guest or a callback wrote: read within bounds, so that nothing that walks it can run
// out of stack, and its names cost no more than they are long.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace cloche::python {

using Json = OrderedJson;
using cloche::write_json;

// Nothing for what is no JSON, is nested deeper than 200 levels, or has more than four million
// values. Of equal names the last wins.
std::optional<Json> read_json(std::string_view text);

}  // namespace cloche::python
