// SPDX-License-Identifier: Apache-2.0
#include "doors/http/assets.h"

#include <array>

CLOCHE_EMBED(cloche_swagger_js, CLOCHE_API_PAGES_DIR "/swagger-ui-dist/swagger-ui-bundle.js")
CLOCHE_EMBED(cloche_swagger_css, CLOCHE_API_PAGES_DIR "/swagger-ui-dist/swagger-ui.css")
CLOCHE_EMBED(cloche_redoc_js, CLOCHE_API_PAGES_DIR "/redoc/bundles/redoc.standalone.js")

namespace cloche::http {

const Asset* find_asset(std::string_view path) {
  static constexpr std::string_view script = "text/javascript; charset=utf-8";
  static const std::array<Asset, 3> assets{{
      {"/docs/swagger-ui-bundle.js", script, cloche_swagger_js()},
      {"/docs/swagger-ui.css", "text/css; charset=utf-8", cloche_swagger_css()},
      {"/docs/redoc.standalone.js", script, cloche_redoc_js()},
  }};
  return asset_at(assets, path);
}

}  // namespace cloche::http
