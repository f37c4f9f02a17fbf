// SPDX-License-Identifier: Apache-2.0
#include "python/unused_heap.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>

namespace cloche::python {
namespace {

// Smaller ones are not worth a call of the host's.
constexpr std::uint32_t least_bytes = 128U << 10;
// Far more than there are of that size in 4 GiB that are not all of one.
constexpr std::size_t most_chunks = 4096;

// malloc_state, and a chunk: a tree's node has its links behind its head, two bits of which are
// whether it and the one before it are in use.
constexpr std::uint32_t dv_size_at = 8, top_size_at = 12, dv_at = 20, top_at = 24, trees_at = 304;
constexpr std::uint32_t trees = 32;
constexpr std::uint32_t head_at = 4, next_at = 8, children_at = 16, node_bytes = 32;
constexpr std::uint32_t in_use = 2, flags = 7;

class Heap {
 public:
  Heap(const wasm::GuestMemory& memory, std::uint32_t state) : memory_(memory), state_(state) {}

  std::vector<wasm::PageRun> unused() {
    add_named(dv_at, dv_size_at);
    add_named(top_at, top_size_at);
    for (std::uint32_t tree = 0; tree < trees; ++tree) {
      if (const auto root = word(state_ + trees_at + tree * 4)) waiting_.push_back(*root);
    }
    while (!waiting_.empty() && seen_ < most_chunks) {
      const std::uint32_t node = waiting_.back();
      waiting_.pop_back();
      if (node == 0) continue;
      ++seen_;
      for (std::uint32_t child : {children_at, children_at + 4}) {
        if (const auto at = word(node + child)) waiting_.push_back(*at);
      }
      add_ring(node);
    }
    std::ranges::sort(runs_, {}, &wasm::PageRun::start);
    return std::move(runs_);
  }

 private:
  std::optional<std::uint32_t> word(std::uint64_t at) const {
    if (at % 4 != 0 || at > memory_.size() || memory_.size() - at < 4) return std::nullopt;
    std::uint32_t value = 0;
    std::memcpy(&value, memory_.base() + at, sizeof value);
    return value;
  }

  // Those of one size.
  void add_ring(std::uint32_t first) {
    std::uint32_t at = first;
    do {
      const auto head = word(std::uint64_t{at} + head_at);
      const auto next = word(std::uint64_t{at} + next_at);
      if (!head || !next || (*head & in_use) != 0) return;
      add(at, *head & ~flags);
      at = *next;
    } while (at != first && ++seen_ < most_chunks);
  }

  void add_named(std::uint32_t where, std::uint32_t size) {
    const auto chunk = word(std::uint64_t{state_} + where);
    const auto bytes = word(std::uint64_t{state_} + size);
    if (chunk && bytes && *chunk != 0) add(*chunk, *bytes);
  }

  void add(std::uint32_t chunk, std::uint32_t bytes) {
    constexpr std::uint64_t page = 4096;
    if (bytes < least_bytes || memory_.size() < bytes || chunk > memory_.size() - bytes) return;
    const std::uint64_t start = (std::uint64_t{chunk} + node_bytes + page - 1) / page * page;
    const std::uint64_t end = (std::uint64_t{chunk} + bytes) / page * page;
    if (start < end) runs_.push_back({start, end - start});
  }

  const wasm::GuestMemory& memory_;
  const std::uint32_t state_;
  std::size_t seen_ = 0;
  std::vector<std::uint32_t> waiting_;
  std::vector<wasm::PageRun> runs_;
};

}  // namespace

std::vector<wasm::PageRun> unused_heap(wasm::Instance& instance) {
  const auto state = instance.global("__cloche_heap");
  if (!state) return {};
  const wasm::GuestMemory memory = instance.memory();
  std::vector<wasm::PageRun> runs = Heap(memory, state->as_u32()).unused();
  const auto overlap = std::ranges::adjacent_find(
      runs, [](const wasm::PageRun& a, const wasm::PageRun& b) { return a.end() > b.start; });
  return overlap == runs.end() ? runs : std::vector<wasm::PageRun>();
}

}  // namespace cloche::python
