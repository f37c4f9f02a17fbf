// SPDX-License-Identifier: Apache-2.0
#include "vfs/glob_match.h"

#include <algorithm>

namespace cloche::vfs {
namespace {

// Whether `c` is in the set that starts at pattern[at] == '['; sets `end` after it. A '[' without
// an end stands for itself.
bool set_matches(std::string_view pattern, std::size_t at, unsigned char c, std::size_t& end) {
  std::size_t i = at + 1;
  const bool negated = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
  if (negated) ++i;
  bool in = false;
  for (bool first = true; i < pattern.size() && (pattern[i] != ']' || first); first = false) {
    if (pattern[i] == '\\' && i + 1 < pattern.size()) ++i;
    const auto low = static_cast<unsigned char>(pattern[i]);
    auto high = low;
    if (i + 2 < pattern.size() && pattern[i + 1] == '-' && pattern[i + 2] != ']') {
      high = static_cast<unsigned char>(pattern[i + 2]);
      i += 2;
    }
    in = in || (c >= low && c <= high);
    ++i;
  }
  if (i >= pattern.size()) {
    end = at + 1;
    return c == '[';
  }
  end = i + 1;
  return in != negated;
}

// Whether pattern[at] matches `c`; sets `end` after that item.
bool item_matches(std::string_view pattern, std::size_t at, unsigned char c, std::size_t& end) {
  end = at + 1;
  switch (pattern[at]) {
    case '?': return true;
    case '[': return set_matches(pattern, at, c, end);
    case '\\':
      if (at + 1 < pattern.size()) {
        end = at + 2;
        return static_cast<unsigned char>(pattern[at + 1]) == c;
      }
      return c == '\\';
    default: return static_cast<unsigned char>(pattern[at]) == c;
  }
}

}  // namespace

bool glob_match(std::string_view pattern, std::string_view name) {
  std::size_t p = 0, n = 0;
  // Only the last star ever needs to take more.
  std::size_t star = pattern.npos, star_name = 0;
  while (n < name.size()) {
    std::size_t end = 0;
    if (p < pattern.size() && pattern[p] == '*') {
      star = ++p;
      star_name = n;
    } else if (p < pattern.size() &&
               item_matches(pattern, p, static_cast<unsigned char>(name[n]), end)) {
      p = end;
      ++n;
    } else if (star != pattern.npos) {
      p = star;
      n = ++star_name;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool has_wildcard(std::string_view pattern) {
  return pattern.find_first_of("*?[\\") != pattern.npos;
}

std::vector<std::string_view> split_pattern(std::string_view pattern) {
  std::vector<std::string_view> parts;
  while (!pattern.empty()) {
    const std::size_t end = std::min(pattern.find('/'), pattern.size());
    if (end != 0) parts.push_back(pattern.substr(0, end));
    pattern.remove_prefix(std::min(end + 1, pattern.size()));
  }
  return parts;
}

}  // namespace cloche::vfs
