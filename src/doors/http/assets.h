// SPDX-License-Identifier: Apache-2.0
// Swagger UI and Redoc, compiled in: /docs/swagger-ui-bundle.js, /docs/swagger-ui.css,
// /docs/redoc.standalone.js. The files are third parties' and come from third_party.lock.toml.
#pragma once

#include <string_view>

#include "doors/http/embedded.h"

namespace cloche::http {

// Null when there is none of that path.
const Asset* find_asset(std::string_view path);

}  // namespace cloche::http
