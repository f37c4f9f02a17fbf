// SPDX-License-Identifier: Apache-2.0
// GuestScratch: the memory of a guest on strings, as far as nothing else uses it: what a test puts
// there for a call, and what it finds there afterwards.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "wasm/instance.h"

namespace cloche::kernel {

class GuestScratch {
 public:
  wasm::GuestMemory memory() const { return instance_.memory(); }

  // 8-byte aligned; what was reserved before is used again after reset().
  std::uint32_t reserve(std::uint32_t bytes);
  void reset() noexcept { used_ = first_address; }
  template <typename T>
    requires std::is_trivially_copyable_v<T> && (!std::is_convertible_v<T, std::string_view>)
  std::uint32_t put(const T& object) {
    const std::uint32_t address = reserve(sizeof(T));
    (void)memory().write(address, object);
    return address;
  }
  template <typename T>
  T get(std::uint32_t address) const {
    const Result<T> object = memory().read<T>(address);
    return object ? *object : T{};
  }
  std::string text(std::uint32_t address, std::uint32_t bytes) const;

 protected:
  // The guest has `memory_bytes`.
  GuestScratch(wasm::Instance& instance, std::uint32_t memory_bytes)
      : instance_(instance), memory_bytes_(memory_bytes) {}

  wasm::Instance& instance_;
  static constexpr std::uint32_t first_address = 1024;
  std::uint32_t used_ = first_address;

 private:
  const std::uint32_t memory_bytes_;
};

}  // namespace cloche::kernel
