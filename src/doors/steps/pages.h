// SPDX-License-Identifier: Apache-2.0
// The pages of the step server that never change: its OpenAPI document, the pages that show it,
// their assets, and the page from which an agent learns to use it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cloche::steps {

struct Page {
  std::string_view type;
  std::string_view content;
};

// By path: /docs, /redoc, /openapi.json, /skill.md, /llms.txt and the assets.
std::optional<Page> find_page(std::string_view path);

// What `sbs skill` prints.
std::string_view skill_page();
// The OpenAPI 3.1 document.
std::string_view openapi_document();

}  // namespace cloche::steps
