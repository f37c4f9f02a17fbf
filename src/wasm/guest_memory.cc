// SPDX-License-Identifier: Apache-2.0
#include "wasm/guest_memory.h"

#include <algorithm>

namespace cloche::wasm {

Result<std::string> GuestMemory::read_string(std::uint32_t address,
                                             std::uint64_t max_length) const {
  if (address >= size_) return Errno::fault;
  const std::uint64_t in_range = size_ - address;
  const std::uint64_t limit = max_length < in_range ? max_length + 1 : in_range;
  const auto* start = reinterpret_cast<const char*>(base_ + address);
  const void* end = std::memchr(start, 0, static_cast<std::size_t>(limit));
  if (end == nullptr) return limit > max_length ? Errno::nametoolong : Errno::fault;
  return std::string(start, static_cast<const char*>(end));
}

Result<void> GuestMemory::copy_in(std::uint32_t address, std::span<std::byte> to) const {
  if (to.empty()) return {};
  if (!holds(address, to.size())) return Errno::fault;
  std::memcpy(to.data(), base_ + address, to.size());
  return {};
}

Result<void> GuestMemory::copy_out(std::uint32_t address, std::span<const std::byte> from) const {
  if (from.empty()) return {};
  if (!holds(address, from.size())) return Errno::fault;
  std::memcpy(base_ + address, from.data(), from.size());
  return {};
}

}  // namespace cloche::wasm
