// SPDX-License-Identifier: Apache-2.0
#include "wasm/hot_pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace cloche::wasm {
namespace {

#ifdef MADV_POPULATE_WRITE
constexpr int populate_write = MADV_POPULATE_WRITE;
#else
constexpr int populate_write = 23;  // Linux 5.14; older kernels answer EINVAL
#endif
// A start writes some hundreds of pages; more would be a program that left its memory full.
constexpr std::uint64_t max_hot_bytes = std::uint64_t{4} << 20;

// Linear memory up to whole host pages.
std::span<std::byte> pages_of(Instance& instance) {
  const GuestMemory memory = instance.memory();
  const auto all = memory.slice(0, memory.size());
  return all ? *all : std::span<std::byte>();
}

}  // namespace

// Where there is no memory for it, the next one learns.
void HotPages::learn(Instance& instance) try {
  if (known_.load(std::memory_order_acquire)) return;
  const std::span<std::byte> memory = pages_of(instance);
  if (memory.empty()) return;
  std::vector<PageRun> written = find_private_pages(memory.data(), memory.size());
  const MutexLock lock(mutex_);
  if (known_.load(std::memory_order_relaxed)) return;
  runs_ = lessons_ == 0 ? std::move(written) : common_pages(runs_, written);
  if (++lessons_ < lessons_needed) return;
  if (bytes_of(runs_) > max_hot_bytes) runs_.clear();
  known_.store(true, std::memory_order_release);
} catch (const std::bad_alloc&) {
}

void HotPages::prepare(Instance& instance) const {
  if (!known_.load(std::memory_order_acquire)) return;
  if (const auto* warmth = instance.warmth(); warmth != nullptr && !warmth->pages.empty()) return;
  const std::span<std::byte> memory = pages_of(instance);
  for (const PageRun& run : runs_) {
    if (run.end() > memory.size()) return;
    if (madvise(memory.data() + run.start, run.length, populate_write) != 0)
      return;  // only a matter of speed
  }
}

}  // namespace cloche::wasm
