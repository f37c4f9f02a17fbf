// SPDX-License-Identifier: Apache-2.0
#include "doors/console/console_assets.h"

#include <array>

#include "console_names.h"

CLOCHE_EMBED(cloche_console_page, CLOCHE_CONSOLE_DIR "/index.html")
CLOCHE_EMBED(cloche_console_script, CLOCHE_CONSOLE_DIR "/console.js.gz")
CLOCHE_EMBED(cloche_console_style, CLOCHE_CONSOLE_DIR "/console.css.gz")

namespace cloche::console {

const http::Asset* find_asset(std::string_view path) {
  static const std::array<http::Asset, 3> assets{{
      {"/console", "text/html; charset=utf-8", cloche_console_page()},
      {CLOCHE_CONSOLE_SCRIPT, "text/javascript; charset=utf-8", cloche_console_script(), true,
       true},
      {CLOCHE_CONSOLE_STYLE, "text/css; charset=utf-8", cloche_console_style(), true, true},
  }};
  return http::asset_at(assets, path);
}

}  // namespace cloche::console
