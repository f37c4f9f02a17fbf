// SPDX-License-Identifier: Apache-2.0
// GlobSearch: the files of a tree that a pattern names, as the shell names them, with "**" for any
// folders on the way. Links are not followed by "**", names with a dot are asked for with one, and
// what cannot be looked at does not match. It keeps its place on the heap, and has bounds.
//
// A Tree has folders, and says what is in them. `path` is how a folder is shown, with a slash at
// the end unless it is empty:
//
//   using Place;                                                           a folder, or what may be
//   std::optional<Place> find(const Place&, const std::string& path, std::string_view name, Follow)
//   std::optional<Place> enter(const Place&, const GlobEntry& entry, Follow)           one of list()
//   std::optional<std::vector<GlobEntry>> list(const Place&, const std::string& path)
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "vfs/glob_match.h"
#include "vfs/namespace.h"

namespace cloche::vfs {

struct GlobEntry {
  std::string name;
  bool is_folder = false;
};

template <typename Tree>
class GlobSearch {
 public:
  struct Limits {
    std::size_t matches;
    std::size_t depth;  // what is deeper is ELOOP
  };
  GlobSearch(Tree& tree, std::string_view pattern, Limits limits)
      : tree_(tree), pattern_(pattern), parts_(split_pattern(pattern)), limits_(limits) {}

  // In the order of their names, each once. EFBIG: there is more than a search may find, or have.
  Result<std::vector<std::string>> run(typename Tree::Place start) {
    if (!parts_.empty())
      work_.push_back({std::move(start), pattern_.starts_with('/') ? "/" : "", 0, 0});
    while (!work_.empty()) {
      const Work at = std::move(work_.back());
      work_.pop_back();
      if (at.depth > limits_.depth) return Errno::loop;
      if (bounds_.enter(at.path, at.part)) CLOCHE_TRY(look(at));
    }
    std::ranges::sort(matches_);
    const auto repeated = std::ranges::unique(matches_);
    matches_.erase(repeated.begin(), repeated.end());
    return std::move(matches_);
  }

 private:
  struct Work {
    typename Tree::Place place;
    std::string path;
    std::size_t part;
    std::size_t depth;
  };
  bool is_last(const Work& at) const { return at.part + 1 == parts_.size(); }

  Result<void> look(const Work& at) {
    const std::string_view part = parts_[at.part];
    const Follow follow = is_last(at) ? Follow::no : Follow::yes;
    if (has_wildcard(part)) return part == "**" ? look_at_any_depth(at) : look_at_entries(at);
    if (auto found = tree_.find(at.place, at.path, part, follow))
      return take(at, *std::move(found), at.path + std::string(part));
    return {};
  }

  Result<void> look_at_entries(const Work& at) {
    CLOCHE_ASSIGN(const auto entries, list(at));
    const Follow follow = is_last(at) ? Follow::no : Follow::yes;
    for (const GlobEntry& entry : entries) {
      if (!is_shown(entry, parts_[at.part]) || !glob_match(parts_[at.part], entry.name)) continue;
      if (auto found = tree_.enter(at.place, entry, follow))
        CLOCHE_TRY(take(at, *std::move(found), at.path + entry.name));
    }
    return {};
  }

  Result<void> look_at_any_depth(const Work& at) {
    // "**" stands for no folder too: the next part is tried right here.
    if (!is_last(at)) work_.push_back({at.place, at.path, at.part + 1, at.depth + 1});
    CLOCHE_ASSIGN(const auto entries, list(at));
    for (const GlobEntry& entry : entries) {
      if (!is_shown(entry, parts_[at.part]) || !(is_last(at) || entry.is_folder)) continue;
      auto found = tree_.enter(at.place, entry, Follow::no);
      if (!found) continue;
      if (is_last(at)) CLOCHE_TRY(take(at, *found, at.path + entry.name));
      if (!entry.is_folder) continue;
      work_.push_back({*std::move(found), at.path + entry.name + "/", at.part, at.depth + 1});
      if (!bounds_.keep(work_.back().path)) return Errno::fbig;
    }
    return {};
  }

  static bool is_shown(const GlobEntry& entry, std::string_view part) {
    return !entry.name.starts_with('.') || part.starts_with('.');
  }

  Result<std::vector<GlobEntry>> list(const Work& at) {
    auto entries = tree_.list(at.place, at.path);
    if (!entries) return std::vector<GlobEntry>();
    if (!bounds_.look(entries->size())) return Errno::fbig;
    return *std::move(entries);
  }

  Result<void> take(const Work& at, typename Tree::Place place, const std::string& path) {
    if (!bounds_.keep(path)) return Errno::fbig;
    if (!is_last(at)) {
      work_.push_back({std::move(place), path + "/", at.part + 1, at.depth + 1});
      return {};
    }
    matches_.push_back(path);
    return matches_.size() > limits_.matches ? Result<void>(Errno::fbig) : Result<void>();
  }

  Tree& tree_;
  const std::string_view pattern_;
  const std::vector<std::string_view> parts_;
  const Limits limits_;
  GlobBounds bounds_;
  std::vector<Work> work_;
  std::vector<std::string> matches_;
};

}  // namespace cloche::vfs
