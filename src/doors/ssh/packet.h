// SPDX-License-Identifier: Apache-2.0
// The data types of SSH (RFC 4251, section 5), read and written. Bytes come from a hostile client:
// a read past the end gives zeros and empty strings, and good() is false from then on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cloche::ssh {

class PacketReader {
 public:
  explicit PacketReader(std::string_view bytes) : rest_(bytes) {}

  std::uint8_t byte() { return static_cast<std::uint8_t>(number(1)); }
  std::uint32_t u32() { return static_cast<std::uint32_t>(number(4)); }
  std::uint64_t u64() { return number(8); }
  std::string_view string() {
    const std::uint32_t size = u32();
    if (size > rest_.size()) good_ = false;
    if (!good_) return {};
    const std::string_view text = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return text;
  }
  bool good() const noexcept { return good_; }

 private:
  std::uint64_t number(std::size_t bytes) {
    if (bytes > rest_.size()) good_ = false;
    if (!good_) return 0;
    std::uint64_t value = 0;
    for (const char c : rest_.substr(0, bytes)) value = value << 8 | static_cast<unsigned char>(c);
    rest_.remove_prefix(bytes);
    return value;
  }

  std::string_view rest_;
  bool good_ = true;
};

class PacketWriter {
 public:
  PacketWriter& byte(std::uint8_t value) { return number(value, 1); }
  PacketWriter& u32(std::uint32_t value) { return number(value, 4); }
  PacketWriter& u64(std::uint64_t value) { return number(value, 8); }
  PacketWriter& string(std::string_view text) {
    u32(static_cast<std::uint32_t>(text.size()));
    bytes_ += text;
    return *this;
  }
  PacketWriter& raw(std::string_view text) {
    bytes_ += text;
    return *this;
  }
  const std::string& bytes() const noexcept { return bytes_; }

 private:
  PacketWriter& number(std::uint64_t value, int bytes) {
    for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8)
      bytes_ += static_cast<char>(value >> shift & 0xff);
    return *this;
  }
  std::string bytes_;
};

}  // namespace cloche::ssh
