// SPDX-License-Identifier: Apache-2.0
#include "vfs/memfs_content.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

namespace cloche::vfs::memfs {
namespace {

constexpr std::size_t capacity_min = 64;
// No more pages than this are allocated ahead in one file, whatever the quota: the call stays
// short.
constexpr std::uint64_t allocate_pages_max = std::uint64_t{1} << 20;

}  // namespace

Page* Page::make(std::size_t capacity, std::span<const std::byte> head) {
  if (capacity != 0) capacity = std::bit_ceil(std::max(capacity, capacity_min));
  void* memory = ::operator new(sizeof(Page) + capacity);
  Page* page = new (memory) Page;
  page->capacity = static_cast<std::uint32_t>(capacity);
  if (!head.empty()) std::memcpy(page->data(), head.data(), head.size());
  std::memset(page->data() + head.size(), 0, capacity - head.size());
  return page;
}

Page* Page::clone(const Page& other) {
  return make(other.capacity, {other.data(), other.capacity});
}

void Page::destroy(Page* page) noexcept {
  page->~Page();
  ::operator delete(page);
}

std::uint64_t Content::charge_of(std::uint64_t pages, std::uint64_t size, bool tail_held) {
  return pages * page_size - (tail_held ? page_size - size % page_size : 0);
}

std::uint64_t Content::charge() const { return charge_of(pages_.size(), size_, tail_held(size_)); }

std::uint64_t Content::charge_after(std::uint64_t offset, std::uint64_t size) const {
  const std::uint64_t page = offset / page_size;
  const std::uint64_t end = std::max(size_, offset + size);
  const std::uint64_t pages = pages_.size() + (holds(page) ? 0 : 1);
  const bool tail = end % page_size != 0 && (end / page_size == page || holds(end / page_size));
  return charge_of(pages, end, tail);
}

const SharedBytes* Content::unmodified() const {
  return pages_.empty() && size_ == shared_.size() ? &shared_ : nullptr;
}

std::uint64_t Content::held() const {
  if (shared_.empty()) return charge();
  const std::uint64_t shared_pages = (shared_.size() + page_size - 1) / page_size;
  const std::uint64_t covered = pages_.count(0, shared_pages - 1);
  return charge() + shared_.size() - std::min<std::uint64_t>(shared_.size(), covered * page_size);
}

std::span<const std::byte> Content::shared_page(std::uint64_t page) const {
  const std::uint64_t at = page * page_size;
  if (at >= shared_.size()) return {};
  return shared_.bytes().subspan(at, std::min<std::uint64_t>(page_size, shared_.size() - at));
}

std::size_t Content::read(std::uint64_t offset, std::span<std::byte> out) const {
  if (offset >= size_) return 0;
  const std::size_t total =
      static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), size_ - offset));
  std::size_t done = 0;
  while (done < total) {
    const std::uint64_t at = offset + done;
    const std::uint64_t page = at / page_size;
    if (pages_.empty() && at < shared_.size()) {
      // All in one piece: the common case for a file of a base.
      const std::size_t n = std::min<std::size_t>(total - done, shared_.size() - at);
      std::memcpy(out.data() + done, shared_.data() + at, n);
      done += n;
      continue;
    }
    const std::size_t from = at % page_size;
    const std::size_t n = std::min<std::size_t>(total - done, page_size - from);
    std::span<const std::byte> source;
    if (const Page* held = pages_.find(page)) {
      source = {held->data(), held->capacity};
    } else {
      source = shared_page(page);
    }
    const std::size_t have = from < source.size() ? std::min(n, source.size() - from) : 0;
    if (have != 0) std::memcpy(out.data() + done, source.data() + from, have);
    std::memset(out.data() + done + have, 0, n - have);
    done += n;
  }
  return total;
}

std::byte* Content::writable(std::uint64_t page, std::size_t from, std::size_t to) {
  const Page* held = pages_.find(page);
  std::span<const std::byte> old =
      held ? std::span{held->data(), held->capacity} : shared_page(page);
  const bool whole = from == 0 && to >= old.size();
  if (held && held->capacity >= to && (ref_unique(held) || !whole)) {
    return pages_.mut(page).data() + from;
  }
  // What is overwritten anyway is not copied.
  const std::size_t capacity = std::max(to, whole ? std::size_t{0} : old.size());
  Page* fresh = Page::make(capacity, whole ? std::span<const std::byte>{} : old);
  pages_.put(page, Ref<Page>::adopt(fresh));
  return fresh->data() + from;
}

Result<std::size_t> Content::write(std::uint64_t offset, std::span<const std::byte> in,
                                   std::uint64_t room) {
  if (in.empty()) return std::size_t{0};
  if (offset >= file_size_max) return Errno::fbig;
  const std::size_t total =
      static_cast<std::size_t>(std::min<std::uint64_t>(in.size(), file_size_max - offset));
  // The end moves away from the old last page, which then counts in full.
  const std::uint64_t before = charge();
  std::size_t done = 0;
  while (done < total) {
    const std::uint64_t at = offset + done;
    const std::size_t from = at % page_size;
    std::size_t n = std::min<std::size_t>(total - done, page_size - from);
    std::uint64_t after = charge_after(at, n);
    if (after > before && after - before > room) {
      // Within the last page each byte costs one byte.
      const std::uint64_t excess = after - before - room;
      if (excess >= n) break;
      n -= static_cast<std::size_t>(excess);
      after = charge_after(at, n);
      if (after > before && after - before > room) break;
    }
    std::memcpy(writable(at / page_size, from, from + n), in.data() + done, n);
    done += n;
    size_ = std::max(size_, at + n);
  }
  if (done == 0) return Errno::nospc;
  return done;
}

void Content::zero(std::uint64_t page, std::size_t from, std::size_t to) {
  const Page* held = pages_.find(page);
  if (held) {
    to = std::min<std::size_t>(to, held->capacity);
    if (from < to) std::memset(pages_.mut(page).data() + from, 0, to - from);
  } else if (from < shared_page(page).size()) {
    std::memset(writable(page, from, to), 0, to - from);
  }
}

Result<void> Content::truncate(std::uint64_t size, std::uint64_t room) {
  if (size > file_size_max) return Errno::fbig;
  if (size >= size_) {
    const std::uint64_t before = charge(), after = charge_of(pages_.size(), size, tail_held(size));
    if (after > before && after - before > room) return Errno::nospc;
    size_ = size;
    return {};
  }
  const std::uint64_t first_gone = (size + page_size - 1) / page_size;
  pages_.erase_range(first_gone, UINT64_MAX);
  if (size < shared_.size()) shared_ = shared_.part(0, size);
  // Bytes after the end stay zero, in case the file grows again.
  if (size % page_size != 0 && holds(size / page_size)) {
    zero(size / page_size, size % page_size, page_size);
  }
  size_ = size;
  return {};
}

Result<void> Content::allocate(std::uint64_t offset, std::uint64_t size, AllocateMode mode,
                               std::uint64_t room) {
  if (offset > file_size_max || size > file_size_max - offset) return Errno::fbig;
  if (size == 0) return Errno::inval;
  const std::uint64_t first = offset / page_size, last = (offset + size - 1) / page_size;
  const std::uint64_t missing = last - first + 1 - pages_.count(first, last);
  const std::uint64_t new_size =
      mode == AllocateMode::grow ? std::max(size_, offset + size) : size_;
  if (missing > allocate_pages_max) return Errno::nospc;
  const std::uint64_t tail = new_size / page_size;
  const bool tail_after =
      new_size % page_size != 0 && ((tail >= first && tail <= last) || holds(tail));
  const std::uint64_t before = charge();
  const std::uint64_t after = charge_of(pages_.size() + missing, new_size, tail_after);
  if (after > before && after - before > room) return Errno::nospc;
  for (std::uint64_t page = first; page <= last; ++page) {
    if (holds(page)) continue;
    const auto shared = shared_page(page);
    pages_.put(page, Ref<Page>::adopt(Page::make(shared.size(), shared)));
  }
  size_ = new_size;
  return {};
}

Result<void> Content::punch_hole(std::uint64_t offset, std::uint64_t size, std::uint64_t room) {
  if (size == 0) return Errno::inval;
  if (offset > file_size_max || size > file_size_max - offset) return Errno::fbig;
  // Pages that fallocate put after the end go too.
  const std::uint64_t end = offset + size;
  const std::uint64_t first_whole = (offset + page_size - 1) / page_size;
  // A range up to the end of the file takes its last page whole.
  const std::uint64_t end_whole = end >= size_ ? UINT64_MAX : end / page_size;
  // The shared buffer cannot have a hole inside, so zeros cover it: pages that cost quota.
  if (end >= shared_.size()) {
    if (offset < shared_.size()) {
      // Its part after `offset` is dropped, its first page trimmed below.
      shared_ = shared_.part(0, offset);
    }
  } else if (offset < shared_.size()) {
    const std::uint64_t first = offset / page_size, last = (end - 1) / page_size;
    const std::uint64_t missing = last - first + 1 - pages_.count(first, last);
    if (missing * page_size > room) return Errno::nospc;
    for (std::uint64_t page = first; page <= last; ++page) {
      const std::uint64_t start = page * page_size;
      const std::size_t from = offset > start ? static_cast<std::size_t>(offset - start) : 0;
      const std::size_t to = static_cast<std::size_t>(std::min(page_size, end - start));
      if (from == 0 && to == page_size) {
        pages_.put(page, Ref<Page>::adopt(Page::make(0, {})));
      } else {
        zero(page, from, to);
      }
    }
    return {};
  }
  const std::uint64_t first = offset / page_size;
  if (first_whole > first) {
    const std::uint64_t start = first * page_size;
    zero(first, offset - start, static_cast<std::size_t>(std::min(page_size, end - start)));
  }
  if (first_whole < end_whole) pages_.erase_range(first_whole, end_whole - 1);
  if (end < size_ && end % page_size != 0 && end / page_size >= first_whole) {
    zero(end / page_size, 0, end % page_size);
  }
  return {};
}

Result<std::uint64_t> Content::seek_data(std::uint64_t offset) const {
  if (offset >= size_) return Errno::nxio;
  if (offset < shared_.size()) return offset;
  const auto page = pages_.next(offset / page_size);
  if (!page || *page * page_size >= size_) return Errno::nxio;
  return std::max(offset, *page * page_size);
}

Result<std::uint64_t> Content::seek_hole(std::uint64_t offset) const {
  if (offset >= size_) return Errno::nxio;
  std::uint64_t page = std::max(offset, static_cast<std::uint64_t>(shared_.size())) / page_size;
  std::uint64_t at = std::max<std::uint64_t>(offset, shared_.size());
  // The shared buffer may end within a page that goes on as a hole: that page counts as data.
  if (at % page_size != 0 && at > offset) at = ++page * page_size;
  while (at < size_ && holds(page)) at = ++page * page_size;
  return std::min(at, size_);
}

}  // namespace cloche::vfs::memfs
