// SPDX-License-Identifier: Apache-2.0
// The pages that show an OpenAPI document to a person: Swagger UI, where requests can be tried, and
// Redoc. Their scripts are http::find_asset's, of this server: the pages work offline.
#pragma once

#include <string>
#include <string_view>

namespace cloche::http {

// HTML. `document` is the path of the OpenAPI document; both are the server's own words.
std::string swagger_page(std::string_view title, std::string_view document);
std::string redoc_page(std::string_view title, std::string_view document);

}  // namespace cloche::http
