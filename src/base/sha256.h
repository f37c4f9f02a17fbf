// SPDX-License-Identifier: Apache-2.0
// SHA-256 of bytes that come one after another.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace cloche {

class Sha256 {
 public:
  static constexpr std::size_t size = 32;
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void add(std::span<const std::byte> bytes);
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
  // Once.
  std::array<std::uint8_t, size> end();
  // One that goes on from here by itself: for texts with the same beginning.
  Sha256 copy() const;

 private:
  struct Context;
  explicit Sha256(std::unique_ptr<Context> context);
  std::unique_ptr<Context> context_;
};

}  // namespace cloche
