// SPDX-License-Identifier: Apache-2.0
// The REST API as a machine reads it: OpenAPI 3.1. A test compares it with what the server does.
#pragma once

#include <string_view>

namespace cloche::rest {

std::string_view openapi_document();

}  // namespace cloche::rest
