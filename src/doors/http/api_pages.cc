// SPDX-License-Identifier: Apache-2.0
#include "doors/http/api_pages.h"

#include <fmt/format.h>

namespace cloche::http {
namespace {

std::string page(std::string_view title, std::string_view head, std::string_view body) {
  return fmt::format(R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{}</title>
<link rel="icon" href="data:,">
{}
</head>
<body>
{}
</body>
</html>
)",
                     title, head, body);
}

}  // namespace

std::string swagger_page(std::string_view title, std::string_view document) {
  return page(title, R"(<link rel="stylesheet" href="/docs/swagger-ui.css">)",
              fmt::format(R"(<div id="swagger-ui"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script>
SwaggerUIBundle({{url: '{}', dom_id: '#swagger-ui', deepLinking: true, tryItOutEnabled: true,
                 presets: [SwaggerUIBundle.presets.apis], layout: 'BaseLayout'}});
</script>)",
                          document));
}

std::string redoc_page(std::string_view title, std::string_view document) {
  return page(title, "<style>body { margin: 0 }</style>",
              fmt::format(R"(<redoc spec-url="{}" disable-search="false"></redoc>
<script src="/docs/redoc.standalone.js"></script>)",
                          document));
}

}  // namespace cloche::http
