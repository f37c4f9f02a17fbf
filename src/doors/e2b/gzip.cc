// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/gzip.h"

#include <algorithm>
#include <array>
#include <boost/beast/zlib/inflate_stream.hpp>
#include <boost/crc.hpp>

namespace cloche::e2b {
namespace {

namespace zlib = boost::beast::zlib;

constexpr std::size_t fixed_head_bytes = 10;
constexpr std::size_t tail_bytes = 8;
enum : std::uint8_t { has_checksum = 2, has_extra = 4, has_name = 8, has_comment = 16 };

std::uint8_t byte_at(std::string_view text, std::size_t at) {
  return static_cast<std::uint8_t>(text[at]);
}

std::uint32_t number_at(std::string_view text, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i-- > 0;) value = value << 8 | byte_at(text, at + i);
  return value;
}

// Where the packed bytes begin; nothing where this is no head.
std::optional<std::size_t> end_of_head(std::string_view packed) {
  if (packed.size() < fixed_head_bytes || byte_at(packed, 0) != 0x1f ||
      byte_at(packed, 1) != 0x8b || byte_at(packed, 2) != 8)
    return std::nullopt;
  const std::uint8_t flags = byte_at(packed, 3);
  std::size_t at = fixed_head_bytes;
  if ((flags & has_extra) != 0) {
    if (packed.size() < at + 2) return std::nullopt;
    at += 2U + byte_at(packed, at) + (std::size_t{byte_at(packed, at + 1)} << 8);
  }
  for (const std::uint8_t text : {has_name, has_comment}) {
    if ((flags & text) == 0) continue;
    const std::size_t end = at > packed.size() ? packed.npos : packed.find('\0', at);
    if (end == packed.npos) return std::nullopt;
    at = end + 1;
  }
  if ((flags & has_checksum) != 0) at += 2;
  return at <= packed.size() ? std::optional(at) : std::nullopt;
}

}  // namespace

Result<std::string, GzipFault> unpack_gzip(
    std::string_view packed, std::uint64_t limit_bytes,
    const std::function<bool(std::uint64_t bytes)>& has_room) {
  const auto head = end_of_head(packed);
  if (!head || packed.size() - *head < tail_bytes) return GzipFault::malformed;
  const std::string_view content = packed.substr(*head, packed.size() - *head - tail_bytes);
  std::string text;
  std::array<char, 64 << 10> piece;
  zlib::inflate_stream stream;
  zlib::z_params params{};
  params.next_in = content.data();
  params.avail_in = content.size();
  boost::crc_32_type checksum;
  for (bool is_over = false; !is_over;) {
    params.next_out = piece.data();
    params.avail_out = piece.size();
    boost::system::error_code error;
    stream.write(params, zlib::Flush::sync, error);
    const std::size_t made = piece.size() - params.avail_out;
    if (text.size() + made > limit_bytes) return GzipFault::too_large;
    if (const std::uint64_t needed = text.size() + made; needed > text.capacity()) {
      const std::uint64_t capacity =
          std::min(std::max<std::uint64_t>(2 * text.capacity(), needed), limit_bytes);
      if (!has_room(capacity)) return GzipFault::no_room;
      text.reserve(capacity);
    }
    checksum.process_bytes(piece.data(), made);
    text.append(piece.data(), made);
    is_over = error == zlib::error::end_of_stream;
    if (!is_over && (error || made == 0)) return GzipFault::malformed;
  }
  const std::size_t tail = packed.size() - tail_bytes;
  if (params.avail_in != 0 || number_at(packed, tail) != checksum.checksum() ||
      number_at(packed, tail + 4) != static_cast<std::uint32_t>(text.size()))
    return GzipFault::malformed;
  return text;
}

}  // namespace cloche::e2b
