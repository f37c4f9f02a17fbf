// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/space.h"

#include <fmt/format.h>

#include <algorithm>

#include "doors/mcp/tool_error.h"

namespace cloche::mcp {

bool is_name(std::string_view text) {
  constexpr std::size_t most = 63;
  const auto begins = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  const auto goes_on = [&](char c) { return begins(c) || c == '.' || c == '_' || c == '-'; };
  return !text.empty() && text.size() <= most && begins(text.front()) &&
         std::ranges::all_of(text, goes_on);
}

Space::~Space() { close(); }

std::shared_ptr<Box> Space::find(const std::string& name) const {
  const MutexLock lock(mutex_);
  const auto found = boxes_.find(name);
  return found == boxes_.end() ? nullptr : found->second;
}

std::vector<std::shared_ptr<Box>> Space::all() const {
  const MutexLock lock(mutex_);
  std::vector<std::shared_ptr<Box>> list;
  for (const auto& [name, box] : boxes_) list.push_back(box);
  return list;
}

bool Space::add(std::shared_ptr<Box> box) {
  {
    const MutexLock lock(mutex_);
    if (closed_ || !boxes_.emplace(box->name(), box).second) return false;
  }
  watch(box);
  return true;
}

// A box that is used meanwhile is due later than it was said to be, and is looked at again then.
void Space::watch(const std::shared_ptr<Box>& box) {
  const auto due = box->due();
  if (!due) return;
  const std::weak_ptr<Space> here = weak_from_this();
  const std::weak_ptr<Box> watched = box;
  (void)timers_.at(*due, [here, watched] {
    const std::shared_ptr<Space> space = here.lock();
    const std::shared_ptr<Box> its_box = watched.lock();
    if (!space || !its_box || space->find(its_box->name()) != its_box) return;
    const auto now_due = its_box->due();
    if (now_due && *now_due > Box::Clock::now()) return space->watch(its_box);
    // Ending what runs there may take a moment.
    its_box->post_at_once([space, its_box] {
      if (space->find(its_box->name()) == its_box) (void)space->remove(its_box->name());
    });
  });
}

bool Space::remove(const std::string& name) {
  std::shared_ptr<Box> box;
  {
    const MutexLock lock(mutex_);
    const auto found = boxes_.find(name);
    if (found == boxes_.end()) return false;
    box = std::move(found->second);
    boxes_.erase(found);
  }
  box->close();
  return true;
}

bool Space::empty() const {
  const MutexLock lock(mutex_);
  return boxes_.empty() && snapshots_.empty();
}

void Space::close() {
  std::map<std::string, std::shared_ptr<Box>> boxes;
  std::map<std::string, Snapshot> snapshots;
  {
    const MutexLock lock(mutex_);
    closed_ = true;
    boxes.swap(boxes_);
    snapshots.swap(snapshots_);
  }
  for (const auto& [name, box] : boxes) box->close();
}

void Space::save(const std::string& name, LiveSandbox live, std::shared_ptr<void> count) {
  const MutexLock lock(mutex_);
  if (snapshots_.size() >= snapshot_limit) {
    throw ToolError{
        fmt::format("there are {} snapshots already: delete one first", snapshot_limit)};
  }
  if (!snapshots_.emplace(name, Snapshot{std::move(count), std::move(live)}).second) {
    throw ToolError{fmt::format(
        "there is a snapshot '{}' already: take another name, or delete that one first", name)};
  }
}

std::optional<LiveSandbox> Space::snapshot(const std::string& name) const {
  const MutexLock lock(mutex_);
  const auto found = snapshots_.find(name);
  if (found == snapshots_.end()) return std::nullopt;
  return found->second.live;
}

bool Space::drop(const std::string& name) {
  Snapshot dropped;  // goes without the lock
  const MutexLock lock(mutex_);
  const auto found = snapshots_.find(name);
  if (found == snapshots_.end()) return false;
  dropped = std::move(found->second);
  snapshots_.erase(found);
  return true;
}

std::vector<std::string> Space::snapshots() const {
  const MutexLock lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, snapshot] : snapshots_) names.push_back(name);
  return names;
}

std::shared_ptr<Box> Scope::find(const std::string& name) const {
  if (auto box = own->find(name)) return box;
  return named->find(name);
}

std::vector<std::shared_ptr<Box>> Scope::all() const {
  std::vector<std::shared_ptr<Box>> list = own->all();
  if (named != own) {
    for (std::shared_ptr<Box>& box : named->all()) list.push_back(std::move(box));
  }
  std::ranges::sort(list, {}, [](const std::shared_ptr<Box>& box) { return box->name(); });
  return list;
}

std::string Scope::free_name(const std::string& prefix) const {
  for (std::size_t number = 1;; ++number) {
    std::string name = fmt::format("{}-{}", prefix, number);
    if (!find(name)) return name;
  }
}

std::optional<LiveSandbox> Scope::snapshot(const std::string& name) const {
  if (auto live = own->snapshot(name)) return live;
  return named->snapshot(name);
}

std::vector<std::string> Scope::snapshots() const {
  std::vector<std::string> names = own->snapshots();
  if (named != own) {
    for (std::string& name : named->snapshots()) names.push_back(std::move(name));
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace cloche::mcp
