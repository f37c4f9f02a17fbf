// SPDX-License-Identifier: Apache-2.0
// EpollFile: epoll(7). Level and edge triggered, EPOLLONESHOT; an epoll file may watch others, five
// deep, without loops. Kernel lock held.
//
// A watched file is not kept open: an entry ends with the last descriptor of its file. While
// somebody waits, the files are held.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/result.h"
#include "kernel/files/byte_ring.h"
#include "kernel/files/file.h"
#include "kernel/time/kernel_lock.h"

namespace cloche::kernel {

class Task;

inline constexpr std::uint32_t epollexclusive = 1U << 28, epollwakeup = 1U << 29,
                               epolloneshot = 1U << 30, epollet = 1U << 31;

// One look at files, whatever epoll files are among them: while it lives, this thread visits at
// most so many entries of epoll files that are watched by others, and what lies beyond them is not
// ready. A guest may ask for the same tree of them a thousand times in one call, and the lock is
// held meanwhile. Looks within a look are part of it. Do not sleep while one lives.
class EpollLook {
 public:
  static constexpr std::size_t max_visits = 32768;

  EpollLook() noexcept;
  ~EpollLook();
  EpollLook(const EpollLook&) = delete;
  EpollLook& operator=(const EpollLook&) = delete;
};

struct EpollEvent {
  std::uint32_t events = 0;
  std::uint64_t data = 0;
};

class EpollFile : public File {
 public:
  static constexpr std::size_t max_entries = 4096;
  static constexpr int max_depth = 5;
  static constexpr int max_epoll_entries =
      4;  // epoll files in one: what a look at a whole tree of them may cost

  // The first entries cost nothing, each further one so much of the kernel's budget for buffers.
  static constexpr std::size_t free_entries = 16;
  static constexpr std::size_t entry_bytes = 192;

  EpollFile(std::shared_ptr<BufferBudget> budget, std::uint64_t id)
      : File(o_rdwr), budget_(std::move(budget)), id_(id) {}
  ~EpollFile() override { (void)charge_for(0); }

  // epoll_ctl. EEXIST, ENOENT; EPERM for a file that cannot be waited for; EINVAL for itself and
  // for bad EPOLLEXCLUSIVE; ELOOP for a loop or a chain that is too deep; ENOSPC at the limits
  // and without room in the budget.
  Result<void> add(std::int32_t fd, const FilePtr& file, EpollEvent event) REQUIRES(kernel_lock);
  Result<void> modify(std::int32_t fd, const FilePtr& file, EpollEvent event) REQUIRES(kernel_lock);
  Result<void> remove(std::int32_t fd, const FilePtr& file);

  // Up to `max_events` of them; none when the deadline has passed. Errno::restart: interrupted.
  Result<std::vector<EpollEvent>> wait(Task& task, std::size_t max_events, Deadline deadline)
      REQUIRES(kernel_lock);

  PollEvents poll() override REQUIRES(kernel_lock);
  void poll_sources(PollSources& sources) override REQUIRES(kernel_lock);
  Result<vfs::Stat> stat() override REQUIRES(kernel_lock);
  std::string description() const override REQUIRES(kernel_lock) {
    return "anon_inode:[eventpoll]";
  }

 private:
  struct Entry {
    std::weak_ptr<File> file;
    EpollEvent event;
    std::uint64_t seen_changes =
        0;               // edge triggered: what PollSources::changes was at the last report
    bool fresh = true;   // added or modified since
    bool spent = false;  // EPOLLONESHOT has fired
  };
  using Key = std::pair<std::int32_t, const File*>;

  Entry* find(std::int32_t fd, const FilePtr& file);
  void forget_closed();
  // False: the budget has no room for so many entries.
  bool charge_for(std::size_t entries) noexcept;
  // What an entry has to report now.
  static PollEvents ready(const Entry& entry, File& file) REQUIRES(kernel_lock);
  std::vector<EpollEvent> collect(std::size_t max_events) REQUIRES(kernel_lock);
  // Length of the longest chain of epoll files below; more than max_depth when there is a loop
  // through `root`.
  int depth_with(const EpollFile& root, int depth) const;

  const std::shared_ptr<BufferBudget> budget_;
  std::uint64_t charged_ = 0;
  std::uint64_t id_;
  std::map<Key, Entry> entries_;
  Key next_{};  // where the next report starts, so that a busy entry does not starve the others
  WaitQueue changed_;
};

}  // namespace cloche::kernel
