// SPDX-License-Identifier: Apache-2.0
// MemoryMap: which pages of a guest's linear memory brk and mmap have handed out. Only
// book-keeping: the caller grows and clears the memory. Addresses are guest addresses, pages 4096
// bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "vfs/filesystem.h"
#include "wasm/memory_budget.h"
#include "wasm/private_pages.h"

namespace cloche::kernel {

inline constexpr std::uint64_t page_bytes = 4096;

// What a mapping of a file had when it was made, or was written back last: what differs from that
// was written by the process. Charged to the sandbox's memory.
struct KnownContent {
  explicit KnownContent(std::shared_ptr<wasm::MemoryBudget> budget) : charge(std::move(budget)) {}
  wasm::MemoryCharge charge;
  std::vector<std::byte> bytes;
};

// A shared, writable mapping of a file: what is changed in it is written back by msync, munmap and
// exit.
struct SharedMapping {
  vfs::Node node;
  std::uint64_t offset = 0;
  std::shared_ptr<KnownContent> known = {};  // of the whole that it may be a part of
  std::uint64_t known_at = 0;                // where in it this begins

  // What is left of it behind its first `bytes`.
  SharedMapping from(std::uint64_t bytes) const {
    return {node, offset + bytes, known, known_at + bytes};
  }
};

class MemoryMap {
 public:
  struct Region {
    std::uint64_t end = 0;
    std::optional<SharedMapping> shared;
  };

  // `heap_base`: where brk starts. `memory_end`: the size of the linear memory.
  void reset(std::uint64_t heap_base, std::uint64_t memory_end);

  std::uint64_t heap_base() const noexcept { return heap_base_; }
  std::uint64_t brk() const noexcept { return brk_; }
  // The break may grow while it is the last thing in memory, or into what the memory already has;
  // the new break, and in `grow_to` the size the memory must have. ENOMEM otherwise.
  Result<void> set_brk(std::uint64_t brk);

  // Finds `length` bytes (a multiple of the page): in the free list, or at the end of memory. The
  // region may end beyond memory_end(): then the caller grows the memory to memory_needed() first,
  // and calls release on failure.
  std::uint64_t allocate(std::uint64_t length);
  // The region that begins there is a mapping of a file from now on.
  void share(std::uint64_t start, SharedMapping shared) {
    regions_.at(start).shared = std::move(shared);
  }
  // Marks [start, start+length) as free; parts that are not mapped are skipped, as munmap does.
  void release(std::uint64_t start, std::uint64_t length);
  // [start, start+length), which lies within one region, is no part of a file's mapping any more.
  void make_private(std::uint64_t start, std::uint64_t length);
  // The mapped region that holds `address`.
  const std::pair<const std::uint64_t, Region>* find(std::uint64_t address) const;
  const std::map<std::uint64_t, Region>& regions() const noexcept { return regions_; }
  // What was handed out once, and is free.
  std::vector<wasm::PageRun> unused() const;
  // A clone has copies: only the process that mapped a file writes it back.
  void forget_shared() noexcept {
    for (auto& [start, region] : regions_) region.shared.reset();
  }

  std::uint64_t memory_end() const noexcept { return memory_end_; }
  std::uint64_t memory_needed() const noexcept { return needed_; }
  void grown(std::uint64_t memory_end) noexcept { memory_end_ = memory_end; }

 private:
  std::uint64_t heap_base_ = 0;
  std::uint64_t brk_ = 0;
  std::uint64_t memory_end_ = 0;
  std::uint64_t needed_ = 0;
  std::map<std::uint64_t, Region> regions_;      // start -> mapped
  std::map<std::uint64_t, std::uint64_t> free_;  // start -> end: once mapped, free now
};

}  // namespace cloche::kernel
