// SPDX-License-Identifier: Apache-2.0
// The console's page, compiled in: /console and what it loads. Names of what it loads have a hash
// of the content, so they never change.
#pragma once

#include <string_view>

#include "doors/http/embedded.h"

namespace cloche::console {

// Null when there is none of that path.
const http::Asset* find_asset(std::string_view path);

}  // namespace cloche::console
