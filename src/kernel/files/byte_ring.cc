// SPDX-License-Identifier: Apache-2.0
#include "kernel/files/byte_ring.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace cloche::kernel {

ByteRing::ByteRing(std::shared_ptr<BufferBudget> budget, std::size_t capacity_bytes)
    : budget_(std::move(budget)), capacity_(capacity_bytes) {}

ByteRing::~ByteRing() { budget_->give_back(charged()); }

void ByteRing::reserve(std::size_t bytes) {
  if (bytes <= storage_bytes_) return;
  // Few steps: a pipe in earnest use soon has its full size.
  std::size_t wanted = std::max(storage_bytes_, BufferBudget::free_bytes);
  while (wanted < bytes) wanted *= 4;
  wanted = std::min(wanted, std::max(capacity_, bytes));
  const std::size_t before = charged();
  const std::size_t after =
      wanted > BufferBudget::free_bytes ? wanted - BufferBudget::free_bytes : 0;
  auto grown = std::make_unique_for_overwrite<std::byte[]>(wanted);
  if (!budget_->take(after - before)) {
    if (storage_bytes_ >= BufferBudget::free_bytes) {
      capacity_ = storage_bytes_;
      return;
    }
    wanted = std::min(BufferBudget::free_bytes, wanted);
    capacity_ = wanted;
  }
  peek({grown.get(), size_});
  storage_ = std::move(grown);
  storage_bytes_ = wanted;
  head_ = 0;
}

std::size_t ByteRing::make_room(std::size_t bytes) {
  const std::size_t wanted = std::min(bytes, room());
  if (wanted == 0) return 0;
  reserve(size_ + wanted);
  return std::min(wanted, storage_bytes_ - size_);
}

std::size_t ByteRing::write(std::span<const std::byte> from) {
  const std::size_t count = make_room(from.size());
  if (count == 0) return 0;
  const std::size_t tail = (head_ + size_) % storage_bytes_;
  const std::size_t first = std::min(count, storage_bytes_ - tail);
  std::memcpy(storage_.get() + tail, from.data(), first);
  if (count > first) std::memcpy(storage_.get(), from.data() + first, count - first);
  size_ += count;
  return count;
}

std::size_t ByteRing::peek(std::span<std::byte> to, std::size_t skip) const noexcept {
  if (skip >= size_) return 0;
  const std::size_t count = std::min(to.size(), size_ - skip);
  if (count == 0) return 0;
  const std::size_t start = (head_ + skip) % storage_bytes_;
  const std::size_t first = std::min(count, storage_bytes_ - start);
  std::memcpy(to.data(), storage_.get() + start, first);
  if (count > first) std::memcpy(to.data() + first, storage_.get(), count - first);
  return count;
}

std::size_t ByteRing::read(std::span<std::byte> to) noexcept {
  const std::size_t count = peek(to);
  discard(count);
  return count;
}

void ByteRing::discard(std::size_t bytes) noexcept {
  const std::size_t count = std::min(bytes, size_);
  if (count == 0) return;
  size_ -= count;
  // An empty ring starts over, so that transfers stay in one piece.
  head_ = size_ == 0 ? 0 : (head_ + count) % storage_bytes_;
}

std::size_t ByteRing::unread(std::span<const std::byte> from) {
  const std::size_t count = make_room(from.size());
  if (count == 0) return 0;
  head_ = (head_ + storage_bytes_ - count) % storage_bytes_;
  const std::span<const std::byte> tail = from.last(count);
  const std::size_t first = std::min(count, storage_bytes_ - head_);
  std::memcpy(storage_.get() + head_, tail.data(), first);
  if (count > first) std::memcpy(storage_.get(), tail.data() + first, count - first);
  size_ += count;
  return count;
}

bool ByteRing::set_capacity(std::size_t bytes) noexcept {
  if (bytes < size_) return false;
  if (bytes > storage_bytes_ && bytes > capacity_) {
    const std::size_t more = bytes - std::max(storage_bytes_, BufferBudget::free_bytes);
    if (!budget_->take(more)) return false;
    budget_->give_back(more);
  }
  capacity_ = bytes;
  return true;
}

}  // namespace cloche::kernel
