// SPDX-License-Identifier: Apache-2.0
// Matching of one name against one pattern, as the shell does it in the C locale: bytes, no
// collation.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cloche::vfs {

// '*' any bytes, '?' one, '[a-z]' a set ('!' or '^' first: not in it), '\' the next one as it is.
// Linear in pattern x name, whatever the pattern.
bool glob_match(std::string_view pattern, std::string_view name);
bool has_wildcard(std::string_view pattern);
// The parts between slashes, empty ones left out.
std::vector<std::string_view> split_pattern(std::string_view pattern);

// What bounds a search for a pattern, which nothing else ends.
class GlobBounds {
 public:
  static constexpr std::size_t entries_max = 2'000'000;
  // Of all paths that it keeps: a tree is as deep as its owner likes.
  static constexpr std::size_t path_bytes_max = std::size_t{128} << 20;

  // False: the place has been looked at for this part. What comes of both is the same by whichever
  // way "**" has led there.
  bool enter(const std::string& path, std::size_t part) {
    path_bytes_ += path.size();
    return seen_.emplace(path, part).second;
  }
  // A path that was made, to be found or to be looked at. False: as for look().
  bool keep(const std::string& path) {
    path_bytes_ += path.size();
    return path_bytes_ <= path_bytes_max;
  }
  // At a folder with so many entries. False: that is more than one search may have.
  bool look(std::size_t entries) {
    entries_ += entries + 1;
    return entries_ <= entries_max;
  }

 private:
  std::set<std::pair<std::string, std::size_t>> seen_;
  std::size_t entries_ = 0;
  std::size_t path_bytes_ = 0;
};

}  // namespace cloche::vfs
