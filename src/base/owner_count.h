// SPDX-License-Identifier: Apache-2.0
// OwnerCount: how many of something guests hold, in all and of each owner. Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

#include "base/owner.h"

namespace cloche {

class OwnerCount {
 public:
  using OfOwner = std::atomic<std::size_t> Owner::*;
  explicit OwnerCount(OfOwner of_owner) noexcept : of_owner_(of_owner) {}
  OwnerCount(const OwnerCount&) = delete;
  OwnerCount& operator=(const OwnerCount&) = delete;

  std::size_t held() const noexcept { return held_; }
  // More than half of what is held. Null: nobody has.
  bool has_most(const std::shared_ptr<Owner>& owner) const noexcept {
    return owner && (*owner).*of_owner_ > held_ / 2;
  }

  // For one, as long as it is held. The count outlives it.
  class Permit {
   public:
    // Null: nobody's.
    Permit(OwnerCount& count, std::shared_ptr<Owner> owner) noexcept
        : count_(&count), owner_(std::move(owner)) {
      ++count_->held_;
      if (owner_) ++((*owner_).*count_->of_owner_);
    }
    Permit(Permit&& other) noexcept
        : count_(std::exchange(other.count_, nullptr)), owner_(std::move(other.owner_)) {}
    Permit& operator=(Permit&&) = delete;
    ~Permit() {
      if (!count_) return;
      --count_->held_;
      if (owner_) --((*owner_).*count_->of_owner_);
    }

   private:
    OwnerCount* count_;
    std::shared_ptr<Owner> owner_;
  };

 private:
  const OfOwner of_owner_;
  std::atomic<std::size_t> held_ = 0;
};

}  // namespace cloche
