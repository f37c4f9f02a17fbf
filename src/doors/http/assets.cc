// SPDX-License-Identifier: Apache-2.0
#include "doors/http/assets.h"

#include <array>

// The assembler copies the file between two symbols.
#define CLOCHE_EMBED(name, file)                              \
  __asm__(                                                    \
      ".pushsection .rodata\n"                                \
      ".balign 16\n"                                          \
      ".global " #name                                        \
      "_begin\n"                                              \
      ".global " #name "_end\n" #name                         \
      "_begin:\n"                                             \
      ".incbin \"" CLOCHE_API_PAGES_DIR "/" file "\"\n" #name \
      "_end:\n"                                               \
      ".byte 0\n"                                             \
      ".popsection\n");                                       \
  extern "C" const char name##_begin[];                       \
  extern "C" const char name##_end[];

CLOCHE_EMBED(cloche_swagger_js, "swagger-ui-dist/swagger-ui-bundle.js")
CLOCHE_EMBED(cloche_swagger_css, "swagger-ui-dist/swagger-ui.css")
CLOCHE_EMBED(cloche_redoc_js, "redoc/bundles/redoc.standalone.js")

namespace cloche::http {
namespace {

std::string_view between(const char* begin, const char* end) {
  return {begin, static_cast<std::size_t>(end - begin)};
}

}  // namespace

const Asset* find_asset(std::string_view path) {
  static constexpr std::string_view script = "text/javascript; charset=utf-8";
  static const std::array<Asset, 3> assets{{
      {"/docs/swagger-ui-bundle.js", script,
       between(cloche_swagger_js_begin, cloche_swagger_js_end)},
      {"/docs/swagger-ui.css", "text/css; charset=utf-8",
       between(cloche_swagger_css_begin, cloche_swagger_css_end)},
      {"/docs/redoc.standalone.js", script, between(cloche_redoc_js_begin, cloche_redoc_js_end)},
  }};
  for (const Asset& asset : assets) {
    if (asset.path == path) return &asset;
  }
  return nullptr;
}

}  // namespace cloche::http
