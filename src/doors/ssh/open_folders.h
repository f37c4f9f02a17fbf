// SPDX-License-Identifier: Apache-2.0
// OpenFolders: how many entries of folders clients have open, in each sandbox, of each owner and in
// all: what is listed for a client is kept until it has been read, or is closed. Thread-safe.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "base/share_limit.h"

namespace cloche::ssh {

class OpenFolders : public std::enable_shared_from_this<OpenFolders> {
 public:
  // A folder with all that a sandbox may have by default, and some.
  static constexpr std::size_t sandbox_limit = 300'000;
  static constexpr std::size_t limit = 4'000'000;
  static constexpr std::size_t owner_limit = three_quarters(limit);  // others find room

  // Given back when it goes. An empty one holds nothing.
  class Share {
   public:
    Share() = default;
    Share(Share&& other) noexcept
        : all_(std::move(other.all_)),
          owner_(std::move(other.owner_)),
          whose_(other.whose_),
          entries_(other.entries_) {}
    Share& operator=(Share&& other) noexcept {
      std::swap(all_, other.all_);
      std::swap(owner_, other.owner_);
      std::swap(whose_, other.whose_);
      std::swap(entries_, other.entries_);
      return *this;
    }
    ~Share() {
      if (all_) all_->give_back(owner_, whose_, entries_);
    }

   private:
    friend class OpenFolders;
    Share(std::shared_ptr<OpenFolders> all, std::string owner, const void* whose,
          std::size_t entries)
        : all_(std::move(all)), owner_(std::move(owner)), whose_(whose), entries_(entries) {}
    std::shared_ptr<OpenFolders> all_;
    std::string owner_;
    const void* whose_ = nullptr;
    std::size_t entries_ = 0;
  };

  // Nothing: that is more than there may be. `whose`: what tells sandboxes apart. Without a name an
  // owner has no share: it is everybody.
  std::optional<Share> take(const std::string& owner, const void* whose, std::size_t entries) {
    if (entries == 0) return Share();
    const MutexLock lock(mutex_);
    const auto of = [](const auto& counts, const auto& key) {
      const auto found = counts.find(key);
      return found == counts.end() ? 0 : found->second;
    };
    const std::size_t its = of(of_sandbox_, whose), owned = of(of_owner_, owner);
    if (its + entries > sandbox_limit || all_ + entries > limit ||
        (!owner.empty() && owned + entries > owner_limit))
      return std::nullopt;
    of_sandbox_[whose] = its + entries;
    of_owner_[owner] = owned + entries;
    all_ += entries;
    return Share(shared_from_this(), owner, whose, entries);
  }

 private:
  void give_back(const std::string& owner, const void* whose, std::size_t entries) noexcept {
    const MutexLock lock(mutex_);
    all_ -= entries;
    const auto less = [entries](auto& counts, const auto& key) {
      const auto found = counts.find(key);
      found->second -= entries;
      if (found->second == 0) counts.erase(found);
    };
    less(of_sandbox_, whose);
    less(of_owner_, owner);
  }

  Mutex mutex_;
  std::map<const void*, std::size_t> of_sandbox_ GUARDED_BY(mutex_);
  std::map<std::string, std::size_t> of_owner_ GUARDED_BY(mutex_);
  std::size_t all_ GUARDED_BY(mutex_) = 0;
};

// Those of an owner's sandboxes. The other outlives it.
class FoldersOfOwner {
 public:
  FoldersOfOwner(OpenFolders& all, std::string owner = {}) : all_(all), owner_(std::move(owner)) {}
  std::optional<OpenFolders::Share> take(const void* whose, std::size_t entries) {
    return all_.take(owner_, whose, entries);
  }

 private:
  OpenFolders& all_;
  const std::string owner_;
};

}  // namespace cloche::ssh
