// SPDX-License-Identifier: Apache-2.0
// The console's page, compiled in: /console and what it loads. Names of what it loads have a hash
// of the content, so they never change.
#pragma once

#include <string_view>

namespace cloche::console {

struct Asset {
  std::string_view path;
  std::string_view type;
  std::string_view content;
  bool is_compressed = false;  // by gzip
  bool is_immutable = false;
};

// Null when there is none of that path.
const Asset* find_asset(std::string_view path);

}  // namespace cloche::console
