// SPDX-License-Identifier: Apache-2.0
#include "wasm/page_files.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <list>
#include <new>
#include <utility>

#include "base/mutex.h"
#include "wasm/image_memory.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

namespace cloche::wasm {
namespace {

// Room for an image that is somewhat larger than the one before.
constexpr std::uint64_t room_divisor = 8;
// A file that is larger than so many times what it holds is not taken.
constexpr std::uint64_t most_waste = 2;

struct PageFile : MemoryFile {
  std::uint64_t capacity = 0;
  std::uint64_t filled = 0;  // from the start on: they have pages
  mutable std::atomic<bool> may_rest{true};

  PageFile() = default;
  PageFile(const PageFile&) = delete;
  PageFile& operator=(const PageFile&) = delete;
  ~PageFile() {
    if (mapped != nullptr) munmap(mapped, capacity);
  }

  // From the second use on. Where the host refuses, it is written as a file.
  void map() noexcept {
    if (mapped != nullptr) return;
    void* mapping =
        mmap(nullptr, capacity, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd.get(), 0);
    if (mapping == MAP_FAILED) return;
    mapped = static_cast<std::byte*>(mapping);
    mapped_bytes = capacity;
    // Of a shared mapping this makes the pages writable too, many at a time.
    (void)madvise(mapped, filled, MADV_POPULATE_READ);
  }

  // What has pages by the mapping, the rest by the descriptor.
  Result<void> fill(const std::byte* base, const std::vector<PageRun>& runs);
};

Result<void> PageFile::fill(const std::byte* base, const std::vector<PageRun>& runs) {
  const std::uint64_t present = mapped != nullptr ? filled : 0;
  std::vector<PageRun> written;
  std::uint64_t offset = 0;
  for (const PageRun& run : runs) {
    const std::uint64_t copied = offset < present ? std::min(run.length, present - offset) : 0;
    if (copied > 0) std::memcpy(mapped + offset, base + run.start, copied);
    if (copied < run.length) written.push_back({run.start + copied, run.length - copied});
    offset += run.length;
  }
  if (!written.empty()) CLOCHE_TRY(write_runs(*this, std::min(present, offset), base, written));
  filled = std::max(filled, offset);
  return {};
}

class RestingFiles {
 public:
  // The one with the most pages that does not waste them; null: there is none.
  std::unique_ptr<PageFile> take(std::uint64_t bytes) noexcept {
    const MutexLock lock(mutex_);
    auto best = all_.end();
    for (auto it = all_.begin(); it != all_.end(); ++it) {
      const PageFile& file = **it;
      if (file.capacity < bytes || file.filled > most_waste * bytes) continue;
      if (best == all_.end() || file.filled > (*best)->filled) best = it;
    }
    if (best == all_.end()) return nullptr;
    std::unique_ptr<PageFile> taken = std::move(*best);
    bytes_ -= taken->filled;
    all_.erase(best);
    return taken;
  }

  void keep(std::unique_ptr<PageFile> file) {
    std::list<std::unique_ptr<PageFile>> leaving;  // unmapped without the lock
    const MutexLock lock(mutex_);
    const std::uint64_t bytes = file->filled;
    all_.push_front(std::move(file));
    bytes_ += bytes;
    while (all_.size() > most_files || bytes_ > most_bytes) {
      bytes_ -= all_.back()->filled;
      leaving.splice(leaving.end(), all_, std::prev(all_.end()));
    }
  }

  void drop_all() noexcept {
    std::list<std::unique_ptr<PageFile>> leaving;
    const MutexLock lock(mutex_);
    leaving.swap(all_);
    bytes_ = 0;
  }

  std::uint64_t bytes() noexcept {
    const MutexLock lock(mutex_);
    return bytes_;
  }

 private:
  static constexpr std::size_t most_files = 8;
  static constexpr std::uint64_t most_bytes = std::uint64_t{64} << 20;

  Mutex mutex_;
  std::list<std::unique_ptr<PageFile>> all_ GUARDED_BY(mutex_);  // the latest first
  std::uint64_t bytes_ GUARDED_BY(mutex_) = 0;
};

// Never destroyed: images may be, at the very end.
RestingFiles& resting_files() {
  static auto* const files = new RestingFiles;
  return *files;
}

// Its last image is gone.
struct LetRest {
  void operator()(const PageFile* file) const noexcept {
    std::unique_ptr<PageFile> owned(const_cast<PageFile*>(file));
    if (!file->may_rest) return;
    try {
      resting_files().keep(std::move(owned));
    } catch (const std::bad_alloc&) {
      return;  // it has gone, then
    }
  }
};

std::uint64_t with_room(std::uint64_t bytes) noexcept {
  const std::uint64_t page = host_page_bytes();
  return (bytes + bytes / room_divisor + page - 1) / page * page;
}

}  // namespace

Result<std::shared_ptr<const MemoryFile>> copy_to_file(const std::byte* base,
                                                       const std::vector<PageRun>& runs) {
  const std::uint64_t bytes = bytes_of(runs);
  if (bytes < least_resting_bytes) {
    CLOCHE_ASSIGN(std::shared_ptr<const MemoryFile> small, create_memory_file(bytes));
    CLOCHE_TRY(write_runs(*small, 0, base, runs));
    return small;
  }
  std::unique_ptr<PageFile> file = resting_files().take(bytes);
  if (file) {
    file->map();
  } else {
    file = std::make_unique<PageFile>();
    file->capacity = with_room(bytes);
    CLOCHE_ASSIGN(file->fd, open_memory_file(file->capacity));
  }
  CLOCHE_TRY(file->fill(base, runs));
  return std::shared_ptr<const PageFile>(file.release(), LetRest());
}

void never_rest(const std::shared_ptr<const MemoryFile>& file) noexcept {
  if (std::get_deleter<LetRest>(file) != nullptr)
    static_cast<const PageFile&>(*file).may_rest = false;
}

void give_back_page_files() noexcept { resting_files().drop_all(); }

std::uint64_t resting_file_bytes() noexcept { return resting_files().bytes(); }

}  // namespace cloche::wasm
