// SPDX-License-Identifier: Apache-2.0
// Memories that pass from one image to another: what a guest leaves serves a guest that begins with
// an image which was made over the one that the first began with.
#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <utility>

#include "wasm/image_memory.h"
#include "wasm/memory_image.h"
#include "wasm/memory_pieces.h"
#include "wasm/page_size.h"
#include "wasm/unfinished_mapping.h"

namespace cloche::wasm {
namespace {

// What is copied at most: beyond it a new memory costs as little.
constexpr std::uint64_t most_copied_bytes = std::uint64_t{3} << 20;

std::vector<PageRun> beyond(const std::vector<PageRun>& runs, std::uint64_t start) {
  std::vector<PageRun> parts;
  for (const PageRun& run : runs) {
    const std::uint64_t from = std::max(run.start, start);
    if (from < run.end()) parts.push_back({from, run.end() - from});
  }
  return parts;
}

}  // namespace

std::vector<PageRun> MemoryImage::patched_runs() const {
  std::vector<PageRun> runs;
  for (const Segment& patch : patches_) runs.push_back({patch.address, patch.length});
  return join_runs(std::move(runs));
}

bool MemoryImage::put_pages(std::byte* base, const std::vector<PageRun>& runs) const {
  const std::vector<PageRun> asked = join_runs(runs), patched = patched_runs();
  const auto pieces = pieces_of(segments_, memory_bytes_);
  if (!read_pieces(base, pieces, pages_without(asked, patched))) return false;
  return common_pages(asked, patched).empty() || read_patches(base, patches_).ok();
}

// What lies under it is mapped anew where it differs, and each page that is private or of the
// growth file gets the bytes of this image: so nothing of what was there is left.
bool MemoryImage::lay_over(LinearMemory& memory, const MemoryImage& from) const {
  const LinearMemory::Warmth* was = memory.warmth();
  if (was == nullptr || from.module_digest_ != module_digest_ || from.memory_bytes_ > memory_bytes_)
    return false;
  std::byte* base = memory.base();
  LinearMemory::Warmth now;
  now.growth = was->growth;
  now.growth_origin = was->growth_origin;
  // Up to here pages are private, then comes what the guest shares with its growth file.
  const std::uint64_t old_end = was->growth ? was->growth_start : from.memory_bytes_;
  const std::uint64_t end = was->growth ? std::max(old_end, tail_start_) : memory_bytes_;
  now.growth_start = end;
  const std::vector<MemoryPiece> pieces = pieces_of(segments_, end);
  const auto changed = changed_pieces(pieces_of(from.segments_, old_end), pieces);
  if (!map_pieces(base, changed)) return false;
  // Nobody has written it while it rested.
  const std::vector<PageRun> held = pages_without(was->pages, runs_of(changed));
  const std::vector<PageRun> patched = patched_runs();
  std::vector<PageRun> copied = held;
  copied.insert(copied.end(), patched.begin(), patched.end());
  std::vector<PageRun> tail;
  if (was->growth) {
    tail = beyond(tail_, end);
    const std::uint64_t within = memory_bytes_ - was->growth_origin;
    if (within > 0 && !punch_hole(*was->growth, 0, within)) return false;
    if (memory_bytes_ > end &&
        mprotect(base + end, memory_bytes_ - end, PROT_READ | PROT_WRITE) != 0)
      return false;
    copied.insert(copied.end(), tail.begin(), tail.end());
  }
  if (bytes_of(copied) > most_copied_bytes || !put_pages(base, copied)) return false;

  now.pages = held;
  for (const PageRun& patch : patched)
    if (patch.start < end)
      now.pages.push_back({patch.start, std::min(patch.end(), end) - patch.start});
  now.pages = join_runs(std::move(now.pages));
  now.held_bytes = bytes_of(now.pages) + bytes_of(tail);
  memory.rest(memory_bytes_, std::move(now));
  return true;
}

// Where there is no memory to do it with, the instance's goes.
bool MemoryImage::take_back(Instance& instance) const noexcept try {
  MemoryMap& map = instance.memory_map();
  finish_mapping(instance, Before::anyone_looks);
  if (map.base.get() != this || map.lost || map.pieced) return false;
  std::byte* base = instance.mapped_memory().base();
  if (map.growth) {
    // Parts of its growth file may belong to images.
    if (map.growth_start < memory_bytes_ ||
        mmap(base + map.growth_start, address_space_bytes - map.growth_start, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) == MAP_FAILED)
      return false;
    map.growth = nullptr;
  }
  std::vector<PageRun> stale = std::exchange(map.stale, {});
  for (const RewrittenPart& part : map.rewritten) stale.push_back(part.run);
  stale = join_runs(std::move(stale));
  if (!map_pieces(base, parts_within(pieces_of(segments_, memory_bytes_), stale))) return false;
  map.rewritten.clear();
  return stale.empty() || read_patches(base, patches_).ok();
} catch (const std::bad_alloc&) {
  return false;
}

// Where there is no memory to do it with, a new one begins.
std::unique_ptr<LinearMemory> MemoryImage::take_memory(bool prepared) const noexcept try {
  if (auto own = content_->take(prepared)) return own;
  for (const std::weak_ptr<const MemoryImage>& one : {before_, first_}) {
    const std::shared_ptr<const MemoryImage> from = one.lock();
    if (!from) continue;
    auto memory = from->content_->lend(prepared);
    if (memory && lay_over(*memory, *from)) return memory;
  }
  return nullptr;
} catch (const std::bad_alloc&) {
  return nullptr;
}

}  // namespace cloche::wasm
