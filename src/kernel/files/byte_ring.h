// SPDX-License-Identifier: Apache-2.0
// ByteRing: the bytes in flight in a pipe, a terminal or a stream socket. Its storage is allocated
// as it is needed, up to a capacity, and charged to the BufferBudget of the kernel. Kernel lock
// held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace cloche::kernel {

// How much memory the buffers of one kernel may take together. Each buffer gets its first
// `free_bytes` whatever the budget says, so that everything works, slower, when it is used up.
class BufferBudget {
 public:
  static constexpr std::size_t free_bytes = 4096;
  static constexpr std::uint64_t default_limit_bytes = 64ULL << 20;

  explicit BufferBudget(std::uint64_t limit_bytes = default_limit_bytes) : limit_(limit_bytes) {}
  BufferBudget(const BufferBudget&) = delete;
  BufferBudget& operator=(const BufferBudget&) = delete;

  bool take(std::uint64_t bytes) noexcept {
    if (bytes > limit_ - used_) return false;
    used_ += bytes;
    return true;
  }
  void give_back(std::uint64_t bytes) noexcept { used_ -= bytes; }
  std::uint64_t used_bytes() const noexcept { return used_; }

 private:
  const std::uint64_t limit_;
  std::uint64_t used_ = 0;
};

class ByteRing {
 public:
  ByteRing(std::shared_ptr<BufferBudget> budget, std::size_t capacity_bytes);
  ~ByteRing();
  ByteRing(const ByteRing&) = delete;
  ByteRing& operator=(const ByteRing&) = delete;

  std::size_t size() const noexcept { return size_; }
  std::size_t capacity() const noexcept { return capacity_; }
  std::size_t room() const noexcept { return capacity_ > size_ ? capacity_ - size_ : 0; }
  bool empty() const noexcept { return size_ == 0; }

  // Allocates for up to `bytes` more; how many can be appended for certain then.
  std::size_t make_room(std::size_t bytes);
  // Appends what there is room for; how much. The capacity falls to what is allocated when the
  // budget gives no more.
  std::size_t write(std::span<const std::byte> from);
  // Takes up to to.size() bytes from the front.
  std::size_t read(std::span<std::byte> to) noexcept;
  // Copies without taking, from `skip` bytes behind the front.
  std::size_t peek(std::span<std::byte> to, std::size_t skip = 0) const noexcept;
  // Puts bytes back before the front, as far as there is room: the last ones of `from` first.
  std::size_t unread(std::span<const std::byte> from);
  void discard(std::size_t bytes) noexcept;
  void clear() noexcept { discard(size_); }

  // False when it is smaller than size(), or larger than what is allocated and the budget has not
  // that much.
  bool set_capacity(std::size_t bytes) noexcept;

 private:
  // Makes storage for `bytes`, or what the budget gives.
  void reserve(std::size_t bytes);
  std::size_t charged() const noexcept {
    return storage_bytes_ > BufferBudget::free_bytes ? storage_bytes_ - BufferBudget::free_bytes
                                                     : 0;
  }

  std::shared_ptr<BufferBudget> budget_;
  std::size_t capacity_;
  std::unique_ptr<std::byte[]> storage_;
  std::size_t storage_bytes_ = 0;
  std::size_t head_ = 0;  // of the first byte, in storage
  std::size_t size_ = 0;
};

}  // namespace cloche::kernel
