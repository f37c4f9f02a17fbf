// SPDX-License-Identifier: Apache-2.0
// ShareLimit: how many of something there are at a time, in all and of one who has them, so that
// nobody has all of them.
//
// Thread-safe.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/mutex.h"

namespace cloche {

constexpr std::size_t three_quarters(std::size_t of) { return of - of / 4; }

class ShareLimit {
 public:
  // One has three quarters at most.
  explicit ShareLimit(std::size_t limit);
  ShareLimit(std::size_t limit, std::size_t share);

  // For one, as long as it is held. The limit outlives it.
  class Permit {
   public:
    Permit(ShareLimit& limit, std::optional<std::string> who)
        : limit_(&limit), who_(std::move(who)) {}
    Permit(Permit&& other) noexcept
        : limit_(std::exchange(other.limit_, nullptr)), who_(std::move(other.who_)) {}
    Permit& operator=(Permit&&) = delete;
    ~Permit() {
      if (limit_) limit_->release(who_);
    }

   private:
    ShareLimit* limit_;
    std::optional<std::string> who_;
  };
  // None: there are as many as there may be. Without a name for nobody, who has no share.
  std::optional<Permit> acquire(const std::string& who);
  std::optional<Permit> acquire();

  std::size_t held() const;

 private:
  void release(const std::optional<std::string>& who);

  const std::size_t limit_;
  const std::size_t share_;
  mutable Mutex mutex_;
  std::unordered_map<std::string, std::size_t> shares_ GUARDED_BY(mutex_);
  std::size_t held_ GUARDED_BY(mutex_) = 0;
};

}  // namespace cloche
