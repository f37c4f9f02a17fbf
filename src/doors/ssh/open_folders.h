// SPDX-License-Identifier: Apache-2.0
// OpenFolders: how many entries of folders clients have open, in each sandbox and in all: what is
// listed for a client is kept until it has been read, or is closed. Thread-safe.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "base/mutex.h"

namespace cloche::ssh {

class OpenFolders : public std::enable_shared_from_this<OpenFolders> {
 public:
  // A folder with all that a sandbox may have by default, and some.
  static constexpr std::size_t sandbox_limit = 300'000;
  static constexpr std::size_t limit = 4'000'000;

  // Given back when it goes. An empty one holds nothing.
  class Share {
   public:
    Share() = default;
    Share(Share&& other) noexcept
        : all_(std::move(other.all_)), whose_(other.whose_), entries_(other.entries_) {}
    Share& operator=(Share&& other) noexcept {
      std::swap(all_, other.all_);
      std::swap(whose_, other.whose_);
      std::swap(entries_, other.entries_);
      return *this;
    }
    ~Share() {
      if (all_) all_->give_back(whose_, entries_);
    }

   private:
    friend class OpenFolders;
    Share(std::shared_ptr<OpenFolders> all, const void* whose, std::size_t entries)
        : all_(std::move(all)), whose_(whose), entries_(entries) {}
    std::shared_ptr<OpenFolders> all_;
    const void* whose_ = nullptr;
    std::size_t entries_ = 0;
  };

  // Nothing: that is more than there may be. `whose`: what tells sandboxes apart.
  std::optional<Share> take(const void* whose, std::size_t entries) {
    if (entries == 0) return Share();
    const MutexLock lock(mutex_);
    const auto found = of_sandbox_.find(whose);
    const std::size_t its = found == of_sandbox_.end() ? 0 : found->second;
    if (its + entries > sandbox_limit || all_ + entries > limit) return std::nullopt;
    of_sandbox_[whose] = its + entries;
    all_ += entries;
    return Share(shared_from_this(), whose, entries);
  }

 private:
  void give_back(const void* whose, std::size_t entries) noexcept {
    const MutexLock lock(mutex_);
    all_ -= entries;
    const auto found = of_sandbox_.find(whose);
    found->second -= entries;
    if (found->second == 0) of_sandbox_.erase(found);
  }

  Mutex mutex_;
  std::map<const void*, std::size_t> of_sandbox_ GUARDED_BY(mutex_);
  std::size_t all_ GUARDED_BY(mutex_) = 0;
};

}  // namespace cloche::ssh
