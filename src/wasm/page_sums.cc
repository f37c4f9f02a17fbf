// SPDX-License-Identifier: Apache-2.0
#include "wasm/page_sums.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>

#define XXH_INLINE_ALL
#include <xxhash.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

namespace cloche::wasm {
namespace {

std::string sum_hex(XXH128_hash_t sum) {
  return fmt::format("{:016x}{:016x}", sum.high64, sum.low64);
}

}  // namespace

std::string sum_of(std::span<const std::byte> bytes) {
  return sum_hex(XXH3_128bits(bytes.data(), bytes.size()));
}

std::string PageSums::outside(const MemoryImage& image, const std::vector<PageRun>& runs) {
  const std::span<const std::byte> memory = image.content().view();
  if (memory.empty()) return {};
  const std::uint64_t page = host_page_bytes();
  const MutexLock lock(mutex_);
  if (pages_.empty()) {
    // One call instead of a fault for each few.
    (void)madvise(const_cast<std::byte*>(memory.data()), memory.size(), MADV_POPULATE_READ);
    for (std::uint64_t at = 0; at < memory.size(); at += page)
      pages_.push_back(XXH3_64bits(memory.data() + at, page));
  }
  std::vector<std::uint64_t> asked = pages_;
  for (const PageRun& run : runs) {
    const std::uint64_t first = std::min<std::uint64_t>(run.start / page, asked.size());
    const std::uint64_t last = std::min<std::uint64_t>(run.end() / page, asked.size());
    std::fill(asked.begin() + static_cast<std::ptrdiff_t>(first),
              asked.begin() + static_cast<std::ptrdiff_t>(last), 0);
  }
  return sum_of(std::as_bytes(std::span(asked)));
}

struct RunningSum::State {
  XXH3_state_t sum;
};

RunningSum::RunningSum() : state_(std::make_unique<State>()) { XXH3_128bits_reset(&state_->sum); }
RunningSum::~RunningSum() = default;

void RunningSum::add(std::span<const std::byte> bytes) {
  XXH3_128bits_update(&state_->sum, bytes.data(), bytes.size());
}

std::string RunningSum::end() const { return sum_hex(XXH3_128bits_digest(&state_->sum)); }

}  // namespace cloche::wasm
