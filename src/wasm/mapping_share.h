// SPDX-License-Identifier: Apache-2.0
// MappingShare: what guests may have of the mappings of this process.
//
// The kernel gives a process so many (vm.max_map_count, 65,530 unless somebody has set it). Each
// instance is some: its memory, its thread's stack, pieces of its image. Who finds none left cannot
// start a thread or map a file, and wasmtime aborts there. So guests have three quarters, all of
// them together; and an owner whose instances are more than half of all gets no more where three
// quarters of that are taken, so that others still do.
//
// Few instances cannot be too many. Beyond that the kernel is asked, as seldom as it may matter:
// its answer takes milliseconds. Thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "base/mutex.h"
#include "base/owner_count.h"

namespace cloche::wasm {

class MappingShare {
 public:
  using Clock = std::chrono::steady_clock;
  // An instance with the pieces of its image, and what its making splits in the one that it is a
  // copy of, is less.
  static constexpr std::size_t instance_max = 128;

  // How many mappings there are; nothing where nobody tells.
  using Count = std::function<std::optional<std::size_t>()>;
  MappingShare(std::size_t mappings_max, Count count,
               std::function<Clock::time_point()> now = Clock::now);
  MappingShare(const MappingShare&) = delete;
  MappingShare& operator=(const MappingShare&) = delete;

  // That of this process. The first call opens a file of /proc: a process that hides its memory
  // (PR_SET_DUMPABLE) makes it before.
  static MappingShare& of_this_process();

  // For an instance, as long as it is held.
  using Permit = OwnerCount::Permit;
  // None: guests, or this owner's, have all that they may. Without an owner: nobody's.
  std::optional<Permit> acquire(std::shared_ptr<Owner> owner);

 private:
  bool fits(std::size_t limit) REQUIRES(mutex_);
  void look() REQUIRES(mutex_);

  const std::size_t guests_max_;
  const std::size_t owner_max_;
  const Count count_;
  const std::function<Clock::time_point()> now_;
  OwnerCount instances_{&Owner::instances};
  Mutex mutex_;
  // What the kernel has said, when, and how many instances have begun since.
  std::size_t seen_ GUARDED_BY(mutex_) = 0;
  std::optional<Clock::time_point> seen_at_ GUARDED_BY(mutex_);
  std::size_t begun_since_ GUARDED_BY(mutex_) = 0;
};

}  // namespace cloche::wasm
