// SPDX-License-Identifier: Apache-2.0
// Files that are compiled into the program, and served as they are.
//
//   CLOCHE_EMBED(cloche_page, PAGES_FOLDER "/index.html")   // outside of functions
//   ... Asset{"/", "text/html", cloche_page()} ...
#pragma once

#include <algorithm>
#include <span>
#include <string_view>

#include "base/embed.h"

namespace cloche::http {

struct Asset {
  std::string_view path;
  std::string_view type;
  std::string_view content;
  bool is_compressed = false;  // by gzip
  bool is_immutable = false;   // its path has a hash of the content
};

// Null when there is none of that path.
inline const Asset* asset_at(std::span<const Asset> assets, std::string_view path) {
  const auto found = std::ranges::find(assets, path, &Asset::path);
  return found == assets.end() ? nullptr : &*found;
}

}  // namespace cloche::http
