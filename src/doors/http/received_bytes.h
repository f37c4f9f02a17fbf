// SPDX-License-Identifier: Apache-2.0
// ReceivedBytes: what bodies of requests and messages of WebSockets take in memory, from when they
// come until they have been handled: of each owner and in all. ReceivedBody is one of them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/mutex.h"

namespace cloche::http {

// Thread-safe.
class ReceivedBytes {
 public:
  ReceivedBytes(std::uint64_t limit_bytes, std::uint64_t owner_limit_bytes)
      : limit_(limit_bytes), owner_limit_(owner_limit_bytes) {}

  // False, and nothing is taken, where the owner or all together would have too much.
  [[nodiscard]] bool take(const std::string& owner, std::uint64_t bytes);
  void give_back(const std::string& owner, std::uint64_t bytes) noexcept;

  std::uint64_t bytes() const;
  std::uint64_t owner_limit_bytes() const noexcept { return owner_limit_; }

 private:
  const std::uint64_t limit_;
  const std::uint64_t owner_limit_;
  mutable Mutex mutex_;
  std::unordered_map<std::string, std::uint64_t> owners_ GUARDED_BY(mutex_);
  std::uint64_t bytes_ GUARDED_BY(mutex_) = 0;
};

// Of one thread at a time. What it has goes back with it.
class ReceivedBody {
 public:
  // Not counted: the number of connections bounds what so small ones take.
  static constexpr std::uint64_t uncounted_bytes = 64 << 10;

  ReceivedBody(std::shared_ptr<ReceivedBytes> all, std::string owner)
      : all_(std::move(all)), owner_(std::move(owner)) {}
  ~ReceivedBody() { clear(); }
  ReceivedBody(const ReceivedBody&) = delete;
  ReceivedBody& operator=(const ReceivedBody&) = delete;

  // It has so many bytes now, or is about to. False: there is no room, and it has what it had.
  // A body that becomes smaller keeps its room.
  [[nodiscard]] bool grow_to(std::uint64_t bytes);
  // The same, but one that becomes smaller gives room back.
  [[nodiscard]] bool fit_to(std::uint64_t bytes);
  // What its owner may have in all: one that is larger has room at no time.
  std::uint64_t most_bytes() const noexcept { return all_->owner_limit_bytes(); }
  // It has been handled.
  void clear() noexcept;

 private:
  const std::shared_ptr<ReceivedBytes> all_;
  const std::string owner_;
  std::uint64_t taken_ = 0;
};

}  // namespace cloche::http
