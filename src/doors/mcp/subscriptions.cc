// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/subscriptions.h"

#include <vector>

namespace cloche::mcp {

std::shared_ptr<Box> Subscriptions::box_of(const Watched& watched) {
  if (auto box = watched.own->find(watched.address.sandbox)) return box;
  return watched.named->find(watched.address.sandbox);
}

Subscriptions::Mark Subscriptions::mark_of(const Watched& watched) {
  const std::shared_ptr<Box> box = box_of(watched);
  const LiveSandbox live = box ? box->live_if_made() : LiveSandbox();
  if (!live) return std::nullopt;
  const Result<FileInfo> info = live.sandbox->files().stat(watched.address.path);
  if (!info) return std::nullopt;
  return std::pair(info->modified_ns, info->size_bytes);
}

bool Subscriptions::add(const Scope& scope, const std::string& name, const std::string& uri,
                        FileAddress address, Tell tell) {
  Watched watched{scope.own, scope.named, std::move(address), std::nullopt, std::move(tell)};
  watched.mark = mark_of(watched);
  const MutexLock lock(mutex_);
  if (watched_.size() >= limit) return false;
  watched_.insert_or_assign({name, uri}, std::move(watched));
  return true;
}

void Subscriptions::remove(const std::string& name, const std::string& uri) {
  const MutexLock lock(mutex_);
  watched_.erase({name, uri});
}

void Subscriptions::remove_all(const std::string& name) {
  const MutexLock lock(mutex_);
  std::erase_if(watched_, [&](const auto& entry) { return entry.first.first == name; });
}

void Subscriptions::look(const std::shared_ptr<Box>& box) {
  std::vector<std::pair<Tell, std::string>> changed;
  {
    const MutexLock lock(mutex_);
    for (auto& [key, watched] : watched_) {
      if (watched.address.sandbox != box->name() || box_of(watched) != box) continue;
      const Mark now = mark_of(watched);
      if (now == watched.mark) continue;
      watched.mark = now;
      changed.emplace_back(watched.tell, key.second);
    }
  }
  for (const auto& [tell, uri] : changed) tell(uri);
}

}  // namespace cloche::mcp
