// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4), by OpenSSL: of a text, and of bytes that come one after another.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace cloche {

using Sha256Digest = std::array<std::uint8_t, 32>;

class Sha256 {
 public:
  static constexpr std::size_t size = Sha256Digest().size();
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void add(std::span<const std::byte> bytes);
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
  // Once.
  Sha256Digest end();
  // One that goes on from here by itself: for texts with the same beginning.
  Sha256 copy() const;

 private:
  struct Context;
  explicit Sha256(std::unique_ptr<Context> context);
  std::unique_ptr<Context> context_;
};

Sha256Digest sha256(std::span<const std::byte> bytes);
inline Sha256Digest sha256(std::string_view text) { return sha256(std::as_bytes(std::span(text))); }

// OpenSSL's part of it, once. An object whose end waits for threads that sum calls this at its
// beginning: then at exit OpenSSL ends after it, also where it is a static one.
void prepare_sha256();

}  // namespace cloche
