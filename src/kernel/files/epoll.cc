// SPDX-License-Identifier: Apache-2.0
#include "kernel/files/epoll.h"

#include <algorithm>

#include "kernel/files/pipe.h"
#include "kernel/kernel.h"
#include "kernel/process/task.h"

namespace cloche::kernel {
namespace {

std::uint64_t changes_of(File& file) REQUIRES(kernel_lock) {
  PollSources sources;
  file.poll_sources(sources);
  return sources.changes;
}

// Linux refuses what is always ready: regular files and directories.
bool can_wait_for(File& file) REQUIRES(kernel_lock) {
  PollSources sources;
  file.poll_sources(sources);
  return !sources.queues.empty();
}

// How deep this thread is in a tree of epoll files. A chain that was made too long from its lower
// end is cut off here.
thread_local int nesting = 0;
thread_local int looks = 0;
thread_local std::size_t visits_left = 0;

bool may_visit() {
  if (visits_left == 0) return false;
  --visits_left;
  return true;
}

class Nested {
 public:
  Nested() { ++nesting; }
  ~Nested() { --nesting; }
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;
  bool too_deep() const { return nesting > EpollFile::max_depth; }
};

}  // namespace

EpollLook::EpollLook() noexcept {
  if (looks++ == 0) visits_left = max_visits;
}

EpollLook::~EpollLook() { --looks; }

EpollFile::Entry* EpollFile::find(std::int32_t fd, const FilePtr& file) {
  const auto found = entries_.find({fd, file.get()});
  if (found == entries_.end()) return nullptr;
  if (found->second.file.expired()) {
    // Another file that happens to lie at the address of one that is closed.
    entries_.erase(found);
    (void)charge_for(entries_.size());
    return nullptr;
  }
  return &found->second;
}

void EpollFile::forget_closed() {
  std::erase_if(entries_, [](const auto& entry) { return entry.second.file.expired(); });
  (void)charge_for(entries_.size());
}

bool EpollFile::charge_for(std::size_t entries) noexcept {
  const std::uint64_t wanted = (entries - std::min(entries, free_entries)) * entry_bytes;
  if (wanted > charged_ && !budget_->take(wanted - charged_)) return false;
  if (wanted < charged_) budget_->give_back(charged_ - wanted);
  charged_ = wanted;
  return true;
}

int EpollFile::depth_with(const EpollFile& root, int depth) const {
  if (this == &root || depth > max_depth) return max_depth + 1;
  int deepest = depth;
  for (const auto& [key, entry] : entries_) {
    if (!may_visit()) return max_depth + 1;
    const FilePtr file = entry.file.lock();
    const auto* below = dynamic_cast<const EpollFile*>(file.get());
    if (below != nullptr) deepest = std::max(deepest, below->depth_with(root, depth + 1));
    if (deepest > max_depth) break;
  }
  return deepest;
}

Result<void> EpollFile::add(std::int32_t fd, const FilePtr& file, EpollEvent event) {
  if (file.get() == this) return Errno::inval;
  const EpollLook look;
  const auto* below = dynamic_cast<const EpollFile*>(file.get());
  if ((event.events & epollexclusive) != 0) {
    constexpr std::uint32_t allowed =
        epollexclusive | epollwakeup | epollet | pollin | pollout | pollerr | pollhup;
    if (below != nullptr || (event.events & ~allowed) != 0) return Errno::inval;
  }
  if (below != nullptr) {
    if (below->depth_with(*this, 1) > max_depth) return Errno::loop;
    const auto is_epoll = [](const auto& entry) {
      return dynamic_cast<const EpollFile*>(entry.second.file.lock().get()) != nullptr;
    };
    if (std::ranges::count_if(entries_, is_epoll) >= max_epoll_entries) return Errno::nospc;
  } else if (!can_wait_for(*file)) {
    return Errno::perm;
  }
  if (find(fd, file) != nullptr) return Errno::exist;
  if (entries_.size() >= max_entries) forget_closed();
  if (entries_.size() >= max_entries || !charge_for(entries_.size() + 1)) return Errno::nospc;
  entries_.emplace(Key{fd, file.get()}, Entry{file, event});
  changed_.wake_all();
  return {};
}

Result<void> EpollFile::modify(std::int32_t fd, const FilePtr& file, EpollEvent event) {
  Entry* entry = find(fd, file);
  if (entry == nullptr) return Errno::noent;
  if (((event.events | entry->event.events) & epollexclusive) != 0) return Errno::inval;
  *entry = Entry{file, event};
  changed_.wake_all();
  return {};
}

Result<void> EpollFile::remove(std::int32_t fd, const FilePtr& file) {
  if (find(fd, file) == nullptr) return Errno::noent;
  entries_.erase({fd, file.get()});
  (void)charge_for(entries_.size());
  return {};
}

PollEvents EpollFile::ready(const Entry& entry, File& file) {
  if (entry.spent) return 0;
  constexpr std::uint32_t all_events = 0xffff;
  const PollEvents events = file.poll() & ((entry.event.events & all_events) | pollerr | pollhup);
  if (events == 0 || (entry.event.events & epollet) == 0 || entry.fresh) return events;
  return changes_of(file) != entry.seen_changes ? events : 0;
}

std::vector<EpollEvent> EpollFile::collect(std::size_t max_events) {
  const EpollLook look;
  forget_closed();
  std::vector<EpollEvent> events;
  auto it = entries_.lower_bound(next_);
  for (std::size_t looked = 0; looked < entries_.size() && events.size() < max_events;
       ++looked, ++it) {
    if (it == entries_.end()) it = entries_.begin();
    Entry& entry = it->second;
    const FilePtr file = entry.file.lock();
    const PollEvents now = file ? ready(entry, *file) : 0;
    if (now == 0) continue;
    events.push_back({now, entry.event.data});
    if ((entry.event.events & epollet) != 0) {
      entry.seen_changes = changes_of(*file);
      entry.fresh = false;
    }
    if ((entry.event.events & epolloneshot) != 0) entry.spent = true;
  }
  next_ = it == entries_.end() ? Key{} : it->first;
  return events;
}

Result<std::vector<EpollEvent>> EpollFile::wait(Task& task, std::size_t max_events,
                                                Deadline deadline) {
  for (;;) {
    std::vector<EpollEvent> events = collect(max_events);
    if (!events.empty()) return events;
    if (deadline && *deadline <= task.kernel().clock().steady()) return events;
    PollSources sources;
    poll_sources(sources);
    if (deadline) sources.add(*deadline);
    const Result<void> slept = task.block(sources.queues, sources.deadline);
    if (!slept && slept.error() != Errno::timedout) return slept.error();
  }
}

PollEvents EpollFile::poll() {
  const EpollLook look;
  const Nested nested;
  if (nested.too_deep()) return 0;
  for (const auto& [key, entry] : entries_) {
    if (!may_visit()) return 0;
    const FilePtr file = entry.file.lock();
    if (file && ready(entry, *file) != 0) return pollin | pollrdnorm;
  }
  return 0;
}

void EpollFile::poll_sources(PollSources& sources) {
  const EpollLook look;
  const Nested nested;
  if (nested.too_deep()) return;
  sources.add(changed_);
  for (const auto& [key, entry] : entries_) {
    if (!may_visit()) return;
    const FilePtr file = entry.file.lock();
    if (!file || entry.spent) continue;
    file->poll_sources(sources);
    sources.holders.push_back(file);
  }
}

Result<vfs::Stat> EpollFile::stat() { return anonymous_stat(vfs::FileType::regular, id_); }

}  // namespace cloche::kernel
