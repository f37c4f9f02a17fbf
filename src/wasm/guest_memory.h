// SPDX-License-Identifier: Apache-2.0
// GuestMemory: the only way in which the host touches the linear memory of a guest.
//
// It is a value: base address and size at the time it was taken. Linear memory never moves and
// never shrinks, so an old value stays safe for as long as its Instance lives; it only does not see
// what was grown since.
//
// Every access is checked, overflow included; whatever is out of range is EFAULT and touches
// nothing. Addresses and lengths are the guest's and hostile. Data races with the guest cannot
// happen: a guest runs on one thread, the one that is in the call. Yet copy in, act on the copy,
// copy out: a second look at guest memory after a call back into the guest may see other bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/result.h"

namespace cloche::wasm {

class GuestMemory {
 public:
  GuestMemory() = default;
  GuestMemory(std::byte* base, std::uint64_t size) noexcept : base_(base), size_(size) {}

  std::uint64_t size() const noexcept { return size_; }

  // Address 0; for MemoryImage alone. nullptr: there is no memory.
  std::byte* base() const noexcept { return base_; }

  // The `length` bytes at `address`. An empty slice is in range anywhere up to size(), and beyond
  // it too (POSIX accepts a bad pointer with length zero). Valid while the Instance lives and no
  // MemoryImage is mapped into it.
  Result<std::span<std::byte>> slice(std::uint32_t address, std::uint64_t length) const {
    if (length == 0) return std::span<std::byte>{};
    if (!holds(address, length)) return Errno::fault;
    return std::span<std::byte>(base_ + address, static_cast<std::size_t>(length));
  }

  bool holds(std::uint32_t address, std::uint64_t length) const noexcept {
    return length <= size_ && address <= size_ - length;
  }

  // One object, at any alignment, in the guest's byte order (little endian, as the host's).
  template <typename T>
  Result<T> read(std::uint32_t address) const {
    static_assert(std::is_trivially_copyable_v<T>);
    if (!holds(address, sizeof(T))) return Errno::fault;
    T value;
    std::memcpy(&value, base_ + address, sizeof(T));
    return value;
  }

  template <typename T>
  Result<void> write(std::uint32_t address, const T& value) const {
    static_assert(std::is_trivially_copyable_v<T>);
    if (!holds(address, sizeof(T))) return Errno::fault;
    std::memcpy(base_ + address, &value, sizeof(T));
    return {};
  }

  // `count` objects. More than `max_count` of them is EINVAL, before anything is allocated.
  template <typename T>
  Result<std::vector<T>> read_array(std::uint32_t address, std::uint64_t count,
                                    std::uint64_t max_count) const {
    static_assert(std::is_trivially_copyable_v<T>);
    if (count > max_count) return Errno::inval;
    if (count > size_ / sizeof(T) || (count != 0 && !holds(address, count * sizeof(T))))
      return Errno::fault;
    std::vector<T> values(static_cast<std::size_t>(count));
    if (count != 0)
      std::memcpy(values.data(), base_ + address, static_cast<std::size_t>(count) * sizeof(T));
    return values;
  }

  template <typename T>
  Result<void> write_array(std::uint32_t address, std::span<const T> values) const {
    static_assert(std::is_trivially_copyable_v<T>);
    return copy_out(address, std::as_bytes(values));
  }

  // The string at `address` up to its NUL. ENAMETOOLONG when no NUL is among the first `max_length`
  // + 1 bytes, EFAULT when memory ends before it.
  Result<std::string> read_string(std::uint32_t address, std::uint64_t max_length) const;

  // Guest to host, and host to guest. All or nothing.
  Result<void> copy_in(std::uint32_t address, std::span<std::byte> to) const;
  Result<void> copy_out(std::uint32_t address, std::span<const std::byte> from) const;
  Result<void> copy_out(std::uint32_t address, std::string_view from) const {
    return copy_out(address, std::as_bytes(std::span(from)));
  }

 private:
  std::byte* base_ = nullptr;
  std::uint64_t size_ = 0;
};

}  // namespace cloche::wasm
