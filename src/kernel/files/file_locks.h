// SPDX-License-Identifier: Apache-2.0
// FileLocks: the advisory locks of one kernel: fcntl's record locks (of a process, or of an open
// file description) and flock's.
//
// Record locks of both kinds conflict with each other; flock's only with flock's. A lock conflicts
// with one of another owner that overlaps it when one of the two is exclusive. Locks are bound to
// the inode, not to the path. Kernel lock held for every call.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "kernel/time/kernel_lock.h"
#include "kernel/time/wait_queue.h"

namespace cloche::kernel {

class File;
class Task;

enum class LockType { shared, exclusive };

// Bytes first..last, last included.
struct LockRange {
  std::uint64_t first = 0;
  std::uint64_t last = ~std::uint64_t{0};
};

struct LockOwner {
  enum class Kind { process, description, flock };
  Kind kind = Kind::process;
  std::int32_t pid = 0;        // of a process; what F_GETLK tells, -1 for a description
  const File* file = nullptr;  // of a description or flock

  static LockOwner of_process(std::int32_t pid) { return {Kind::process, pid, nullptr}; }
  static LockOwner of_description(const File* file) { return {Kind::description, -1, file}; }
  static LockOwner of_flock(const File* file) { return {Kind::flock, -1, file}; }
  friend bool operator==(const LockOwner&, const LockOwner&) = default;
};

struct FileLock {
  LockOwner owner;
  LockType type = LockType::shared;
  LockRange range;
};

// What a lock is on: an inode.
struct LockKey {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  friend auto operator<=>(const LockKey&, const LockKey&) = default;
};

class FileLocks {
 public:
  FileLocks() = default;
  FileLocks(const FileLocks&) = delete;
  FileLocks& operator=(const FileLocks&) = delete;

  // The first lock that `wanted` conflicts with.
  std::optional<FileLock> conflict(LockKey key, const FileLock& wanted) const;

  // Takes the lock, in place of what the owner has in the range; EAGAIN on a conflict, ENOLCK when
  // there are too many locks.
  Result<void> try_lock(LockKey key, const FileLock& wanted) REQUIRES(kernel_lock);
  // The same, and waits while there is a conflict. EDEADLK when processes would wait for each other
  // (record locks of processes only, as on Linux); otherwise the errors of Task::block.
  Result<void> lock(Task& task, LockKey key, const FileLock& wanted) REQUIRES(kernel_lock);

  // Takes the range out of the owner's locks. ENOLCK when that would split one and there are too
  // many.
  Result<void> unlock(LockKey key, const LockOwner& owner, LockRange range = {})
      REQUIRES(kernel_lock);
  // The process closed a descriptor of that inode: all its record locks there go, whatever
  // descriptor made them.
  void process_closed(std::int32_t pid, LockKey key) REQUIRES(kernel_lock);
  void process_ended(std::int32_t pid) REQUIRES(kernel_lock);
  // The open file description is gone.
  void file_gone(const File* file) noexcept REQUIRES(kernel_lock);

  std::size_t size() const noexcept { return count_; }

  static constexpr std::size_t max_locks = 8192;

 private:
  struct Inode {
    std::vector<FileLock> locks;
    WaitQueue changed;
  };

  struct Wait {
    LockKey key;
    FileLock wanted;
  };

  bool would_deadlock(std::int32_t pid, const LockOwner& holder) const;
  void place(Inode& inode, const FileLock& wanted) REQUIRES(kernel_lock);
  bool cut(Inode& inode, const LockOwner& owner, LockRange range) REQUIRES(kernel_lock);
  template <typename Predicate>
  void drop(Predicate&& gone) noexcept REQUIRES(kernel_lock);

  std::map<LockKey, std::shared_ptr<Inode>> inodes_;
  std::map<std::int32_t, Wait> waits_for_;  // process -> what it waits for
  std::size_t count_ = 0;
};

}  // namespace cloche::kernel
