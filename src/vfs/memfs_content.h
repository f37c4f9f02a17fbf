// SPDX-License-Identifier: Apache-2.0
// Content: the bytes of one regular MemFs file: pages of its own over a part of a shared buffer,
// over holes.
//
// A page of its own costs quota: 4096 bytes, or, for the page that holds the end of the file, the
// bytes up to the end. Operations that may grow are told how many bytes of quota there is room for,
// and say ENOSPC before they change anything; the caller takes charge() before and after and books
// the difference.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "vfs/radix_map.h"
#include "vfs/ref.h"
#include "vfs/shared_bytes.h"
#include "vfs/types.h"

namespace cloche::vfs::memfs {

constexpr std::uint64_t page_size = 4096;

// One page: the first `capacity` bytes follow the header, the rest of the page is zeros. Small
// files have small pages.
struct Page {
  std::atomic<std::uint32_t> refs{1};
  std::uint32_t capacity = 0;

  std::byte* data() { return reinterpret_cast<std::byte*>(this + 1); }
  const std::byte* data() const { return reinterpret_cast<const std::byte*>(this + 1); }

  // A page of at least `capacity` bytes that starts as `head`, then zeros up to its capacity.
  static Page* make(std::size_t capacity, std::span<const std::byte> head);
  static Page* clone(const Page& other);
  static void destroy(Page* page) noexcept;
};

class Content {
 public:
  Content() = default;
  explicit Content(SharedBytes shared) : shared_(std::move(shared)), size_(shared_.size()) {}

  std::uint64_t size() const { return size_; }
  // Bytes of quota that it costs.
  std::uint64_t charge() const;
  // The shared buffer when the content is that and nothing else.
  const SharedBytes* unmodified() const;
  // Bytes that it holds, shared ones too: what st_blocks counts.
  std::uint64_t held() const;

  std::size_t read(std::uint64_t offset, std::span<std::byte> out) const;
  // Writes what there is `room` for; ENOSPC when that is nothing.
  Result<std::size_t> write(std::uint64_t offset, std::span<const std::byte> in,
                            std::uint64_t room);
  Result<void> truncate(std::uint64_t size, std::uint64_t room);
  Result<void> allocate(std::uint64_t offset, std::uint64_t size, AllocateMode mode,
                        std::uint64_t room);
  Result<void> punch_hole(std::uint64_t offset, std::uint64_t size, std::uint64_t room);
  Result<std::uint64_t> seek_data(std::uint64_t offset) const;
  Result<std::uint64_t> seek_hole(std::uint64_t offset) const;

  // For who keeps a copy of it elsewhere. visit(page, held): pages up to the end that are not what
  // they are in `before`, in order; nullptr: nothing is held there any more. Only for two that have
  // the same shared buffer.
  template <typename Visit>
  void pages_changed_since(const Content& before, const Visit& visit) const {
    const std::uint64_t pages = (size_ + page_size - 1) / page_size;
    RadixMap<Page>::differences(before.pages_, pages_,
                                [&](std::uint64_t page, const Page*, const Page* held) {
                                  if (page < pages) visit(page, held);
                                });
  }
  bool has_shared_of(const Content& other) const {
    return shared_.data() == other.shared_.data() && shared_.size() == other.shared_.size();
  }
  const SharedBytes& shared() const { return shared_; }

 private:
  static std::uint64_t charge_of(std::uint64_t pages, std::uint64_t size, bool tail_held);
  bool tail_held(std::uint64_t size) const {
    return size % page_size != 0 && holds(size / page_size);
  }
  bool holds(std::uint64_t page) const { return pages_.find(page) != nullptr; }
  // What the shared buffer has for a page; empty at and after its end.
  std::span<const std::byte> shared_page(std::uint64_t page) const;
  // The charge if [offset, offset + size) were written; the range lies in one page.
  std::uint64_t charge_after(std::uint64_t offset, std::uint64_t size) const;
  // Bytes [from, to) of a page, for writing all of them.
  std::byte* writable(std::uint64_t page, std::size_t from, std::size_t to);
  void zero(std::uint64_t page, std::size_t from, std::size_t to);

  RadixMap<Page> pages_;
  SharedBytes shared_;  // shows through where no page is held
  std::uint64_t size_ = 0;
};

}  // namespace cloche::vfs::memfs
