// SPDX-License-Identifier: Apache-2.0
#include "wasm/memory_content.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <list>
#include <new>
#include <ranges>

#include "base/mutex.h"
#include "wasm/image_memory.h"

namespace cloche::wasm {
namespace {

// Of the pages that lives write: what is copied at the end of each, and held by a memory that rests.
constexpr std::uint64_t most_kept_bytes = std::uint64_t{2} << 20;
// More pieces than this to give back, and the memory itself is given back.
constexpr std::size_t most_given_back = 256;

// Memories that were prepared for a capture have a file each: a few of the descriptors of the process.
std::size_t most_files() noexcept {
  constexpr rlim_t share = 16;
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? static_cast<std::size_t>(limit.rlim_cur / share)
                                               : 0;
}

// Those that rest, of all contents of this process.
class RestingMemories {
 public:
  std::unique_ptr<LinearMemory> take(const MemoryContent& content, bool prepared) noexcept {
    const MutexLock lock(mutex_);
    auto found = all_.end();
    for (auto entry = all_.begin(); entry != all_.end(); ++entry) {
      if (entry->content != &content || (has_file(*entry) && !prepared)) continue;
      found = entry;
      if (has_file(*entry) == prepared) break;
    }
    if (found == all_.end()) return nullptr;
    forget(*found);
    std::unique_ptr<LinearMemory> memory = std::move(found->memory);
    all_.erase(found);
    return memory;
  }

  void keep(const MemoryContent& content, std::unique_ptr<LinearMemory> memory) {
    std::list<Entry> leaving;  // unmapped without the lock
    const MutexLock lock(mutex_);
    all_.push_front({&content, std::move(memory)});
    held_bytes_ += all_.front().memory->warmth()->held_bytes;
    file_count_ += has_file(all_.front()) ? 1U : 0U;
    while (all_.size() > most_memories || held_bytes_ > most_held_bytes)
      leave(std::prev(all_.end()), leaving);
    while (file_count_ > most_files_) {
      const auto last = std::ranges::find_if(all_ | std::views::reverse, has_file);
      leave(std::prev(last.base()), leaving);
    }
  }

  void drop_all() noexcept {
    std::list<Entry> leaving;
    const MutexLock lock(mutex_);
    while (!all_.empty()) leave(all_.begin(), leaving);
  }

  void drop(const MemoryContent& content) noexcept {
    std::list<Entry> leaving;
    const MutexLock lock(mutex_);
    for (auto entry = all_.begin(); entry != all_.end();) {
      const auto next = std::next(entry);
      if (entry->content == &content) leave(entry, leaving);
      entry = next;
    }
  }

 private:
  static constexpr std::size_t most_memories = 64;
  static constexpr std::uint64_t most_held_bytes = std::uint64_t{64} << 20;

  struct Entry {
    const MemoryContent* content;
    std::unique_ptr<LinearMemory> memory;
  };
  static bool has_file(const Entry& entry) noexcept {
    return entry.memory->warmth()->growth != nullptr;
  }
  void forget(const Entry& entry) noexcept REQUIRES(mutex_) {
    held_bytes_ -= entry.memory->warmth()->held_bytes;
    file_count_ -= has_file(entry) ? 1U : 0U;
  }
  void leave(std::list<Entry>::iterator entry, std::list<Entry>& leaving) noexcept
      REQUIRES(mutex_) {
    forget(*entry);
    leaving.splice(leaving.end(), all_, entry);
  }

  const std::size_t most_files_ = std::min(most_memories, most_files());
  Mutex mutex_;
  std::list<Entry> all_
      GUARDED_BY(mutex_);  // the latest first: its pages are the likeliest to be in the CPU's cache
  std::uint64_t held_bytes_ GUARDED_BY(mutex_) = 0;
  std::size_t file_count_ GUARDED_BY(mutex_) = 0;
};

// The shortest of them, as many as are kept.
std::vector<PageRun> kept_of(std::vector<PageRun> written) {
  if (bytes_of(written) <= most_kept_bytes) return written;
  std::ranges::sort(written, {}, &PageRun::length);
  std::uint64_t bytes = 0;
  const auto beyond = std::ranges::find_if(written, [&](const PageRun& run) {
    bytes += run.length;
    return bytes > most_kept_bytes;
  });
  written.erase(beyond, written.end());
  return join_runs(std::move(written));
}

// Never destroyed: contents may be, at the very end.
RestingMemories& resting() {
  static auto* const memories = new RestingMemories;
  return *memories;
}

}  // namespace

MemoryContent::MemoryContent(std::uint64_t bytes, Put put, std::vector<PageRun> patches,
                             PutPages put_pages)
    : bytes_(bytes),
      put_(std::move(put)),
      patches_(join_runs(std::move(patches))),
      put_pages_(std::move(put_pages)) {}

MemoryContent::~MemoryContent() {
  if (has_kept_) resting().drop(*this);
  if (const std::byte* at = view_) munmap(const_cast<std::byte*>(at), bytes_);
}

std::span<const std::byte> MemoryContent::view() const {
  const std::byte* at = view_.load(std::memory_order_acquire);
  if (at != nullptr) return {at, bytes_};
  const MutexLock lock(mutex_);
  if (view_ == nullptr) {
    void* mapping = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) return {};
    if (!put_(static_cast<std::byte*>(mapping)) || mprotect(mapping, bytes_, PROT_READ) != 0) {
      munmap(mapping, bytes_);
      return {};
    }
    view_.store(static_cast<const std::byte*>(mapping), std::memory_order_release);
  }
  return {view_.load(std::memory_order_relaxed), bytes_};
}

std::unique_ptr<LinearMemory> MemoryContent::take(bool prepared) const noexcept {
  lives_.fetch_add(1, std::memory_order_relaxed);
  return lend(prepared);
}

std::unique_ptr<LinearMemory> MemoryContent::lend(bool prepared) const noexcept {
  return has_kept_ ? resting().take(*this, prepared) : nullptr;
}

void MemoryContent::give_back_all() noexcept { resting().drop_all(); }

void MemoryContent::keep(std::unique_ptr<LinearMemory> memory) const noexcept {
  has_kept_ = true;
  resting().keep(*this, std::move(memory));
}

MemoryContent::PutPages MemoryContent::way_to_put() const {
  // A content that is used once is worth no view.
  if (lives_.load(std::memory_order_relaxed) < 2) return put_pages_;
  const std::span<const std::byte> content = view();
  if (content.empty()) return {};
  return [content](std::byte* base, const std::vector<PageRun>& runs) {
    for (const PageRun& run : runs)
      std::memcpy(base + run.start, content.data() + run.start, run.length);
    return true;
  };
}

// Where there is no memory to do it with the one that was used goes, as an instance that ends must
// be able to.
bool MemoryContent::put_back(LinearMemory& memory, const MemoryMap& map) const noexcept try {
  const PutPages put = memory.size() < bytes_ ? PutPages() : way_to_put();
  if (!put) return false;
  std::byte* base = memory.base();
  const std::uint64_t more = memory.size() - bytes_;
  LinearMemory::Warmth warmth;
  if (map.growth) {
    if (map.growth_start > bytes_) return false;
    warmth.growth = map.growth;
    warmth.growth_origin = map.growth_origin;
    warmth.growth_start = map.growth_start;
    if (!put_back_growth(base, map, memory.size(), warmth.held_bytes, put)) return false;
    if (more > 0 && mprotect(base + bytes_, more, PROT_NONE) != 0) return false;
  } else if (more > 0 &&
             mmap(base + bytes_, more, PROT_NONE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) == MAP_FAILED) {
    return false;
  }
  if (!put_back_private(base, map.growth ? map.growth_start : bytes_, memory.warmth(), warmth, put))
    return false;
  memory.rest(bytes_, std::move(warmth));
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

bool MemoryContent::put_back_private(std::byte* base, std::uint64_t end,
                                     const LinearMemory::Warmth* before, LinearMemory::Warmth& now,
                                     const PutPages& put) const {
  const auto written = known_private_pages(base, end);
  if (!written) return false;
  if (before != nullptr && !before->pages.empty()) {
    now.pages = common_pages(*written, before->pages);
  } else {
    now.pages = kept_of(*written);
  }
  // What a mapping does not show is copied in any case.
  if (!patches_.empty()) {
    std::vector<PageRun> patched = common_pages(*written, patches_);
    now.pages.insert(now.pages.end(), patched.begin(), patched.end());
    now.pages = join_runs(std::move(now.pages));
  }
  const std::vector<PageRun> given_back = pages_without(*written, now.pages);
  if (given_back.size() > most_given_back) return false;
  for (const PageRun& run : given_back) {
    if (madvise(base + run.start, run.length, MADV_DONTNEED) != 0) return false;
  }
  now.held_bytes += bytes_of(now.pages);
  return put(base, now.pages);
}

// The pages of the growth file are not private, but the file has those that were ever written, and
// no others.
bool MemoryContent::put_back_growth(std::byte* base, const MemoryMap& map, std::uint64_t size,
                                    std::uint64_t& held_bytes, const PutPages& put) const {
  std::vector<PageRun> written;
  std::uint64_t beyond = 0;
  for (const PageRun& run : find_growth_data(map, size)) {
    const std::uint64_t within = std::min(run.end(), bytes_);
    beyond = std::max(beyond, run.end());
    if (run.start >= within) continue;
    held_bytes += within - run.start;
    if (held_bytes > most_kept_bytes) return false;
    written.push_back({run.start, within - run.start});
  }
  if (!put(base, written)) return false;
  return beyond <= bytes_ || punch_hole(*map.growth, bytes_ - map.growth_origin, beyond - bytes_);
}

}  // namespace cloche::wasm
