// SPDX-License-Identifier: Apache-2.0
#include "doors/console/console_assets.h"

#include <array>

#include "console_names.h"

// The assembler copies the file between two symbols.
#define CLOCHE_EMBED(name, file)                            \
  __asm__(                                                  \
      ".pushsection .rodata\n"                              \
      ".balign 16\n"                                        \
      ".global " #name                                      \
      "_begin\n"                                            \
      ".global " #name "_end\n" #name                       \
      "_begin:\n"                                           \
      ".incbin \"" CLOCHE_CONSOLE_DIR "/" file "\"\n" #name \
      "_end:\n"                                             \
      ".byte 0\n"                                           \
      ".popsection\n");                                     \
  extern "C" const char name##_begin[];                     \
  extern "C" const char name##_end[];

CLOCHE_EMBED(cloche_console_page, "index.html")
CLOCHE_EMBED(cloche_console_script, "console.js.gz")
CLOCHE_EMBED(cloche_console_style, "console.css.gz")

namespace cloche::console {
namespace {

std::string_view between(const char* begin, const char* end) {
  return {begin, static_cast<std::size_t>(end - begin)};
}

}  // namespace

const Asset* find_asset(std::string_view path) {
  static const std::array<Asset, 3> assets{{
      {"/console", "text/html; charset=utf-8",
       between(cloche_console_page_begin, cloche_console_page_end)},
      {CLOCHE_CONSOLE_SCRIPT, "text/javascript; charset=utf-8",
       between(cloche_console_script_begin, cloche_console_script_end), true, true},
      {CLOCHE_CONSOLE_STYLE, "text/css; charset=utf-8",
       between(cloche_console_style_begin, cloche_console_style_end), true, true},
  }};
  for (const Asset& asset : assets) {
    if (asset.path == path) return &asset;
  }
  return nullptr;
}

}  // namespace cloche::console
