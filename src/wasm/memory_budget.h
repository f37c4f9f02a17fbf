// SPDX-License-Identifier: Apache-2.0
// MemoryBudget: what all guests of one sandbox may hold together, charged before it is taken.
//
// Charged are linear memories, the heaps of exceptions, and what the engine holds for an instance
// (tables, globals, references to functions): at creation and at each growth, also one that a guest
// makes between two system calls. What is refused is not taken: memory.grow answers -1.
// Thread-safe, and charging is without locks, since guests grow on threads of their own.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/mutex.h"
#include "base/owner.h"

namespace cloche::wasm {

class MemoryBudget {
 public:
  explicit MemoryBudget(std::uint64_t limit_bytes) noexcept : limit_bytes_(limit_bytes) {}
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  // False, and nothing is charged, when it is more than there is.
  [[nodiscard]] bool charge(std::uint64_t bytes) noexcept {
    std::uint64_t used = used_bytes_.load(std::memory_order_relaxed);
    do {
      if (used > limit_bytes_ || bytes > limit_bytes_ - used) return false;
    } while (!used_bytes_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
    return true;
  }
  void release(std::uint64_t bytes) noexcept {
    used_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  }

  std::uint64_t used_bytes() const noexcept { return used_bytes_.load(std::memory_order_relaxed); }
  std::uint64_t limit_bytes() const noexcept { return limit_bytes_; }

  // Whose the sandbox is, for instances that begin from now on; null, as at first: nobody's.
  void set_owner(std::shared_ptr<Owner> owner) EXCLUDES(owner_mutex_) {
    const MutexLock lock(owner_mutex_);
    owner_ = std::move(owner);
  }
  std::shared_ptr<Owner> owner() const EXCLUDES(owner_mutex_) {
    const MutexLock lock(owner_mutex_);
    return owner_;
  }

 private:
  const std::uint64_t limit_bytes_;
  std::atomic<std::uint64_t> used_bytes_{0};
  mutable Mutex owner_mutex_;
  std::shared_ptr<Owner> owner_ GUARDED_BY(owner_mutex_);
};

// What somebody has charged; goes back with it. Without a budget everything is granted.
class MemoryCharge {
 public:
  explicit MemoryCharge(std::shared_ptr<MemoryBudget> budget) noexcept
      : budget_(std::move(budget)) {}
  ~MemoryCharge() {
    if (budget_) budget_->release(bytes_);
  }
  MemoryCharge(const MemoryCharge&) = delete;
  MemoryCharge& operator=(const MemoryCharge&) = delete;

  [[nodiscard]] bool add(std::uint64_t bytes) noexcept {
    if (budget_ && !budget_->charge(bytes)) return false;
    bytes_ += bytes;
    return true;
  }
  void give_back(std::uint64_t bytes) noexcept {
    if (budget_) budget_->release(bytes);
    bytes_ -= bytes;
  }
  const std::shared_ptr<MemoryBudget>& budget() const noexcept { return budget_; }

 private:
  std::shared_ptr<MemoryBudget> budget_;
  std::uint64_t bytes_ = 0;
};

}  // namespace cloche::wasm
