// SPDX-License-Identifier: Apache-2.0
#include "kernel/process/memory_map.h"

#include <algorithm>
#include <iterator>

namespace cloche::kernel {
namespace {

constexpr std::uint64_t page_up(std::uint64_t n) {
  return (n + page_bytes - 1) & ~(page_bytes - 1);
}

}  // namespace

void MemoryMap::reset(std::uint64_t heap_base, std::uint64_t memory_end) {
  heap_base_ = heap_base;
  brk_ = heap_base;
  memory_end_ = memory_end;
  needed_ = memory_end;
  regions_.clear();
  free_.clear();
}

Result<void> MemoryMap::set_brk(std::uint64_t brk) {
  if (brk < heap_base_) return Errno::nomem;
  // Everything from the first mapping on belongs to mmap; before that the break may move within
  // memory.
  std::uint64_t first_taken = memory_end_;
  if (!regions_.empty()) first_taken = std::min(first_taken, regions_.begin()->first);
  if (!free_.empty()) first_taken = std::min(first_taken, free_.begin()->first);
  if (brk > first_taken) return Errno::nomem;
  brk_ = brk;
  return {};
}

std::uint64_t MemoryMap::allocate(std::uint64_t length) {
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    const auto [start, end] = *it;
    if (end - start < length) continue;
    free_.erase(it);
    if (end - start > length) free_.emplace(start + length, end);
    regions_.emplace(start, Region{start + length, std::nullopt});
    return start;
  }
  const std::uint64_t start = page_up(needed_);
  needed_ = start + length;
  regions_.emplace(start, Region{needed_, std::nullopt});
  return start;
}

void MemoryMap::release(std::uint64_t start, std::uint64_t length) {
  const std::uint64_t end = start + length;
  auto it = regions_.upper_bound(start);
  if (it != regions_.begin()) --it;
  while (it != regions_.end() && it->first < end) {
    const std::uint64_t region_start = it->first;
    const Region region = it->second;
    if (region.end <= start) {
      ++it;
      continue;
    }
    it = regions_.erase(it);
    const std::uint64_t cut_start = std::max(start, region_start);
    const std::uint64_t cut_end = std::min(end, region.end);
    if (region_start < cut_start) regions_.emplace(region_start, Region{cut_start, region.shared});
    if (cut_end < region.end) {
      std::optional<SharedMapping> rest = region.shared;
      if (rest) rest = rest->from(cut_end - region_start);
      regions_.emplace(cut_end, Region{region.end, std::move(rest)});
    }
    // Free neighbours become one.
    std::uint64_t free_start = cut_start;
    std::uint64_t free_end = cut_end;
    auto next = free_.lower_bound(free_start);
    if (next != free_.end() && next->first == free_end) {
      free_end = next->second;
      next = free_.erase(next);
    }
    if (next != free_.begin() && std::prev(next)->second == free_start) {
      std::prev(next)->second = free_end;
    } else {
      free_.emplace(free_start, free_end);
    }
    it = regions_.lower_bound(cut_end);
  }
  // What is beyond the memory that exists is not free but not there yet (an allocation that failed
  // to grow).
  while (!free_.empty() && free_.rbegin()->second == needed_ && needed_ > memory_end_) {
    const auto last = std::prev(free_.end());
    needed_ = std::max(last->first, memory_end_);
    if (last->first >= memory_end_) {
      free_.erase(last);
    } else {
      last->second = memory_end_;
    }
  }
}

void MemoryMap::make_private(std::uint64_t start, std::uint64_t length) {
  const auto it = std::prev(regions_.upper_bound(start));
  if (!it->second.shared) return;
  const auto [region_start, region] = *it;
  const std::uint64_t end = start + length;
  regions_.erase(it);
  if (region_start < start) regions_.emplace(region_start, Region{start, region.shared});
  regions_.emplace(start, Region{end, std::nullopt});
  if (end == region.end) return;
  regions_.emplace(end, Region{region.end, region.shared->from(end - region_start)});
}

std::vector<wasm::PageRun> MemoryMap::unused() const {
  std::vector<wasm::PageRun> runs;
  runs.reserve(free_.size());
  for (const auto& [start, end] : free_) runs.push_back({start, end - start});
  return runs;
}

const std::pair<const std::uint64_t, MemoryMap::Region>* MemoryMap::find(
    std::uint64_t address) const {
  auto it = regions_.upper_bound(address);
  if (it == regions_.begin()) return nullptr;
  --it;
  return address < it->second.end ? &*it : nullptr;
}

}  // namespace cloche::kernel
