// SPDX-License-Identifier: Apache-2.0
// The bytes of a saved tree: records, each of them a letter and numbers (LEB128: seven bits a byte,
// the lowest first, the eighth bit says that more follow).
//
//   R path id          a folder of the base, and the number of its inode
//   N id how type mode uid gid times [attributes] content
//   G id               the inode is gone
//   E                  the end
//
// `how`: see Fresh. Times are four, of seconds (as zigzag) and nanoseconds: access, modification,
// change, birth. Content of a regular file: size, then pieces; of a directory: pieces; of a link:
// its target.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vfs/saved_tree.h"

namespace cloche::vfs::saved {

enum class Record : std::uint8_t { folder = 'R', node = 'N', gone = 'G', end = 'E' };
// Whether what was known of the inode stays, but for what is said here.
enum class Fresh : std::uint8_t { no = 0, yes = 1 };
// Of a file: DATA page length bytes; ZEROS page count (held, all zero); HOLE page count.
enum class Piece : std::uint8_t { end = 0, data = 1, zeros = 2, hole = 3 };
// Of a directory: ADD length name id (replaces); REMOVE length name.
enum class Name : std::uint8_t { end = 0, add = 1, remove = 2 };

constexpr std::uint64_t pages_of_one_piece_max = std::uint64_t{1} << 18;

class Encoder {
 public:
  explicit Encoder(const ByteSink& sink) : sink_(sink) { buffer_.reserve(buffer_bytes); }

  void byte(std::uint8_t value) { append(&value, 1); }
  void number(std::uint64_t value) {
    while (value >= 0x80) {
      byte(static_cast<std::uint8_t>(value) | 0x80);
      value >>= 7;
    }
    byte(static_cast<std::uint8_t>(value));
  }
  void signed_number(std::int64_t value) {
    number((static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
  }
  void text(std::string_view value) {
    number(value.size());
    append(value.data(), value.size());
  }
  void bytes(std::span<const std::byte> value) { append(value.data(), value.size()); }
  // After an error nothing is written any more.
  Result<void> finish() {
    flush();
    return failed_;
  }
  bool failed() const { return !failed_; }

 private:
  static constexpr std::size_t buffer_bytes = 256 << 10;
  void append(const void* data, std::size_t size) {
    if (buffer_.size() + size > buffer_bytes) flush();
    const auto* from = static_cast<const std::byte*>(data);
    buffer_.insert(buffer_.end(), from, from + size);
  }
  void flush() {
    if (failed_ && !buffer_.empty()) failed_ = sink_(buffer_);
    buffer_.clear();
  }

  const ByteSink& sink_;
  std::vector<std::byte> buffer_;
  Result<void> failed_;
};

class Decoder {
 public:
  explicit Decoder(const ByteSource& source) : source_(source), buffer_(buffer_bytes) {}

  Result<std::uint8_t> byte() {
    if (at_ == end_) CLOCHE_TRY(fill());
    return std::to_integer<std::uint8_t>(buffer_[at_++]);
  }
  // EINVAL for one that is more than `most`.
  Result<std::uint64_t> number(std::uint64_t most = UINT64_MAX) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      CLOCHE_ASSIGN(const std::uint8_t next, byte());
      if (shift == 63 && next > 1) return Errno::inval;
      value |= std::uint64_t{next & 0x7fU} << shift;
      if (next < 0x80) {
        if (value > most) return Errno::inval;
        return value;
      }
    }
    return Errno::inval;
  }
  Result<std::uint32_t> small_number(std::uint32_t most) {
    CLOCHE_ASSIGN(const std::uint64_t value, number(most));
    return static_cast<std::uint32_t>(value);
  }
  Result<std::int64_t> signed_number() {
    CLOCHE_ASSIGN(const std::uint64_t value, number());
    return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
  }
  Result<std::string> text(std::size_t most) {
    CLOCHE_ASSIGN(const std::uint64_t size, number(most));
    std::string value(size, '\0');
    CLOCHE_TRY(bytes(std::as_writable_bytes(std::span(value))));
    return value;
  }
  Result<void> bytes(std::span<std::byte> to) {
    while (!to.empty()) {
      if (at_ == end_) CLOCHE_TRY(fill());
      const std::size_t count = std::min(to.size(), end_ - at_);
      std::memcpy(to.data(), buffer_.data() + at_, count);
      at_ += count;
      to = to.subspan(count);
    }
    return {};
  }
  // EINVAL when something follows.
  Result<void> expect_end() {
    if (at_ != end_) return Errno::inval;
    CLOCHE_ASSIGN(const std::size_t count, source_(buffer_));
    if (count != 0) return Errno::inval;
    return {};
  }

 private:
  static constexpr std::size_t buffer_bytes = 256 << 10;
  Result<void> fill() {
    CLOCHE_ASSIGN(const std::size_t count, source_(buffer_));
    if (count == 0) return Errno::inval;
    at_ = 0;
    end_ = count;
    return {};
  }

  const ByteSource& source_;
  std::vector<std::byte> buffer_;
  std::size_t at_ = 0;
  std::size_t end_ = 0;
};

}  // namespace cloche::vfs::saved
