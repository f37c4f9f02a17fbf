// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <span>

namespace cloche::e2b {
namespace {

// A stream of zlib's that reads gzip, and nothing else.
class Unpacking {
 public:
  explicit Unpacking(std::string_view packed) : packed_(packed) {
    is_good_ = ::inflateInit2(&stream_, MAX_WBITS + gzip_alone) == Z_OK;
  }
  ~Unpacking() {
    if (is_good_) ::inflateEnd(&stream_);
  }
  Unpacking(const Unpacking&) = delete;
  Unpacking& operator=(const Unpacking&) = delete;

  bool is_good() const noexcept { return is_good_; }
  bool is_over() const noexcept { return is_at_end_ && stream_.avail_in == 0 && packed_.empty(); }

  // The next bytes into `to`, how many; nothing for what is no gzip, or is cut short.
  std::optional<std::size_t> next(std::span<char> to) {
    stream_.next_out = reinterpret_cast<Bytef*>(to.data());
    stream_.avail_out = static_cast<uInt>(to.size());
    while (stream_.avail_out != 0 && !is_over()) {
      if (is_at_end_) {  // one member follows another
        if (::inflateReset(&stream_) != Z_OK) return std::nullopt;
        is_at_end_ = false;
      }
      feed();
      const int result = ::inflate(&stream_, Z_NO_FLUSH);
      is_at_end_ = result == Z_STREAM_END;
      const bool is_cut = result == Z_BUF_ERROR && stream_.avail_out != 0 && packed_.empty();
      if (is_cut || (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR))
        return std::nullopt;
    }
    return to.size() - stream_.avail_out;
  }

 private:
  static constexpr int gzip_alone = 16;
  static constexpr std::size_t fed_max_bytes = 1 << 30;  // zlib counts in 32 bits

  void feed() {
    if (stream_.avail_in != 0) return;
    const std::string_view part = packed_.substr(0, fed_max_bytes);
    // zlib does not write there.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(part.data()));
    stream_.avail_in = static_cast<uInt>(part.size());
    packed_.remove_prefix(part.size());
  }

  std::string_view packed_;  // what zlib has not been given yet
  z_stream stream_{};
  bool is_good_ = false;
  bool is_at_end_ = false;  // of a member
};

}  // namespace

Result<std::string, GzipFault> unpack_gzip(
    std::string_view packed, std::uint64_t limit_bytes,
    const std::function<bool(std::uint64_t bytes)>& has_room) {
  std::string text;
  std::array<char, 64 << 10> piece;
  Unpacking unpacking(packed);
  if (!unpacking.is_good()) return GzipFault::no_room;
  if (packed.empty()) return GzipFault::malformed;
  while (!unpacking.is_over()) {
    const std::optional<std::size_t> made = unpacking.next(piece);
    if (!made) return GzipFault::malformed;
    if (text.size() + *made > limit_bytes) return GzipFault::too_large;
    if (const std::uint64_t needed = text.size() + *made; needed > text.capacity()) {
      const std::uint64_t capacity =
          std::min(std::max<std::uint64_t>(2 * text.capacity(), needed), limit_bytes);
      if (!has_room(capacity)) return GzipFault::no_room;
      text.reserve(capacity);
    }
    text.append(piece.data(), *made);
  }
  return text;
}

}  // namespace cloche::e2b
