// SPDX-License-Identifier: Apache-2.0
#include "vfs/tree_watch.h"

#include <utility>

namespace cloche::vfs {

Result<std::unique_ptr<TreeWatch>> TreeWatch::make(Node directory, Depth depth,
                                                   std::function<void()> changed) {
  CLOCHE_ASSIGN(const Stat stat, directory.stat());
  if (stat.type != FileType::directory) return Errno::notdir;
  if (!directory.fs().tells_changes()) return Errno::notsup;
  return std::unique_ptr<TreeWatch>(new TreeWatch(std::move(directory), depth, std::move(changed)));
}

TreeWatch::TreeWatch(Node directory, Depth depth, std::function<void()> changed)
    : directory_(std::move(directory)), depth_(depth), changed_(std::move(changed)) {
  directory_.fs().watches_.push_back(this);
}

TreeWatch::~TreeWatch() { std::erase(directory_.fs().watches_, this); }

Result<std::vector<PathChange>> TreeWatch::take() {
  told_ = false;
  pending_bytes_ = 0;
  if (std::exchange(overflowed_, false)) return Errno::overflow;
  return std::exchange(pending_, {});
}

void TreeWatch::hear(const Change& change) {
  if (over_) return;
  if (change.ino == directory_.ino()) {
    if (change.kind == ChangeKind::created) return;  // its new name, after the old one
    over_ = change.kind == ChangeKind::removed;
    return keep(change.kind, ".");
  }
  std::string path;
  if (path_below(change.dir, change.name, path)) keep(change.kind, std::move(path));
}

bool TreeWatch::path_below(Ino dir, std::string_view name, std::string& path) const {
  path = name;
  for (std::size_t level = 0; dir != directory_.ino(); ++level) {
    if (depth_ == Depth::directory || level == levels_max) return false;
    const auto at = directory_.fs().locate(dir);
    if (!at) return false;
    path.insert(0, at->name + "/");
    if (path.size() > path_max) return false;
    dir = at->parent;
  }
  return true;
}

void TreeWatch::keep(ChangeKind kind, std::string path) {
  if (overflowed_) return;
  if (!pending_.empty() && pending_.back().kind == kind && pending_.back().path == path) return;
  pending_bytes_ += sizeof(PathChange) + path.size();
  if (pending_bytes_ > pending_max_bytes) {
    overflowed_ = true;
    pending_ = {};
  } else {
    pending_.push_back({kind, std::move(path)});
  }
  if (!std::exchange(told_, true) && changed_) changed_();
}

}  // namespace cloche::vfs
