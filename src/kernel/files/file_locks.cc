// SPDX-License-Identifier: Apache-2.0
#include "kernel/files/file_locks.h"

#include <algorithm>

#include "kernel/process/task.h"

namespace cloche::kernel {
namespace {

bool overlap(const LockRange& a, const LockRange& b) {
  return a.first <= b.last && b.first <= a.last;
}

// One range, or two that touch.
bool joins(const LockRange& a, const LockRange& b) {
  return overlap(a, b) || (a.last != ~std::uint64_t{0} && a.last + 1 == b.first) ||
         (b.last != ~std::uint64_t{0} && b.last + 1 == a.first);
}

bool conflicts(const FileLock& held, const FileLock& wanted) {
  const bool held_flock = held.owner.kind == LockOwner::Kind::flock;
  const bool wanted_flock = wanted.owner.kind == LockOwner::Kind::flock;
  return held_flock == wanted_flock && !(held.owner == wanted.owner) &&
         overlap(held.range, wanted.range) &&
         (held.type == LockType::exclusive || wanted.type == LockType::exclusive);
}

}  // namespace

std::optional<FileLock> FileLocks::conflict(LockKey key, const FileLock& wanted) const {
  const auto found = inodes_.find(key);
  if (found == inodes_.end()) return std::nullopt;
  for (const FileLock& held : found->second->locks) {
    if (conflicts(held, wanted)) return held;
  }
  return std::nullopt;
}

Result<void> FileLocks::try_lock(LockKey key, const FileLock& wanted) {
  // A flock is converted by giving the old one up first, so that two holders who both ask for more
  // do not wait for each other.
  if (wanted.owner.kind == LockOwner::Kind::flock) CLOCHE_TRY(unlock(key, wanted.owner));
  if (conflict(key, wanted)) return Errno::again;
  // Placing a lock adds it, and splits at most one that is there.
  if (count_ + 2 > max_locks) return Errno::nolck;
  auto& inode = inodes_[key];
  if (!inode) inode = std::make_shared<Inode>();
  place(*inode, wanted);
  return {};
}

Result<void> FileLocks::lock(Task& task, LockKey key, const FileLock& wanted) {
  while (true) {
    const Result<void> taken = try_lock(key, wanted);
    if (taken || taken.error() != Errno::again) return taken;
    const std::optional<FileLock> held = conflict(key, wanted);
    const std::shared_ptr<Inode> inode = inodes_.at(key);
    const bool is_process = wanted.owner.kind == LockOwner::Kind::process;
    if (is_process) {
      if (would_deadlock(wanted.owner.pid, held->owner)) return Errno::deadlk;
      waits_for_.insert_or_assign(wanted.owner.pid, Wait{key, wanted});
    }
    const Result<void> slept = task.block({&inode->changed});
    if (is_process) waits_for_.erase(wanted.owner.pid);
    CLOCHE_TRY(slept);
  }
}

// Follows who waits for whom from `holder`; a chain that comes back to `pid` would never end. A
// process waits for one lock at a time, so the chain is at most as long as the table.
bool FileLocks::would_deadlock(std::int32_t pid, const LockOwner& holder) const {
  LockOwner owner = holder;
  for (std::size_t step = 0; step <= waits_for_.size(); ++step) {
    if (owner.kind != LockOwner::Kind::process) return false;
    if (owner.pid == pid) return true;
    const auto next = waits_for_.find(owner.pid);
    if (next == waits_for_.end()) return false;
    // It may have been released, and who waits has not looked yet.
    const std::optional<FileLock> held = conflict(next->second.key, next->second.wanted);
    if (!held) return false;
    owner = held->owner;
  }
  return false;
}

void FileLocks::place(Inode& inode, const FileLock& wanted) {
  FileLock placed = wanted;
  cut(inode, wanted.owner, wanted.range);
  // What touches the new lock and is of the same kind becomes one with it, so that a file locked
  // byte by byte stays one lock.
  const auto joined = [&](const FileLock& lock) {
    if (!(lock.owner == placed.owner) || lock.type != placed.type ||
        !joins(lock.range, placed.range))
      return false;
    placed.range.first = std::min(placed.range.first, lock.range.first);
    placed.range.last = std::max(placed.range.last, lock.range.last);
    return true;
  };
  count_ -= std::erase_if(inode.locks, joined);
  inode.locks.push_back(placed);
  ++count_;
}

// Takes `range` out of the owner's locks; true when something changed.
bool FileLocks::cut(Inode& inode, const LockOwner& owner, LockRange range) {
  bool changed = false;
  std::vector<FileLock> kept;
  kept.reserve(inode.locks.size() + 2);
  for (const FileLock& lock : inode.locks) {
    if (!(lock.owner == owner) || !overlap(lock.range, range)) {
      kept.push_back(lock);
      continue;
    }
    changed = true;
    if (lock.range.first < range.first) {
      kept.push_back({lock.owner, lock.type, {lock.range.first, range.first - 1}});
    }
    if (lock.range.last > range.last) {
      kept.push_back({lock.owner, lock.type, {range.last + 1, lock.range.last}});
    }
  }
  count_ = count_ - inode.locks.size() + kept.size();
  inode.locks = std::move(kept);
  if (changed) inode.changed.wake_all();
  return changed;
}

Result<void> FileLocks::unlock(LockKey key, const LockOwner& owner, LockRange range) {
  const auto found = inodes_.find(key);
  if (found == inodes_.end()) return {};
  if (count_ + 1 > max_locks && (range.first != 0 || range.last != ~std::uint64_t{0}))
    return Errno::nolck;
  const std::shared_ptr<Inode> inode = found->second;
  cut(*inode, owner, range);
  if (inode->locks.empty()) inodes_.erase(found);
  return {};
}

template <typename Predicate>
void FileLocks::drop(Predicate&& gone) noexcept {
  for (auto at = inodes_.begin(); at != inodes_.end();) {
    Inode& inode = *at->second;
    const std::size_t dropped =
        std::erase_if(inode.locks, [&](const FileLock& lock) { return gone(at->first, lock); });
    count_ -= dropped;
    if (dropped != 0) inode.changed.wake_all();
    at = inode.locks.empty() ? inodes_.erase(at) : std::next(at);
  }
}

void FileLocks::process_closed(std::int32_t pid, LockKey key) {
  if (count_ != 0) (void)unlock(key, LockOwner::of_process(pid));
}

void FileLocks::process_ended(std::int32_t pid) {
  drop([&](const LockKey&, const FileLock& lock) {
    return lock.owner == LockOwner::of_process(pid);
  });
}

void FileLocks::file_gone(const File* file) noexcept {
  drop([&](const LockKey&, const FileLock& lock) { return lock.owner.file == file; });
}

}  // namespace cloche::kernel
