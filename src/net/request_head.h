// SPDX-License-Identifier: Apache-2.0
// The head of an HTTP/1.1 request as all who read it have to read it. What one server might read in
// another way is none: then nobody can say for whom the request is, or where it ends.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace cloche::net {

enum class Ending : std::uint8_t {
  none,     // no body
  length,   // after so many bytes
  chunked,  //
  never,    // CONNECT, or another protocol from here on
};

struct RequestHead {
  std::string_view host;                 // the name in the Host field; empty where there is none
  bool is_origin_form = false;           // the target is a path: it names no host itself
  bool is_answered_with_itself = false;  // TRACE
  std::string_view authorization;  // the value of the field; empty where there is none, or two
  Ending ending = Ending::none;
  std::uint64_t length = 0;
};

// Of the text up to and with its empty line; nothing for a head with folded lines, control
// characters, line ends of one character, names that are no names, two Host fields, or more than
// one word about its body. Views into `text`.
std::optional<RequestHead> read_request_head(std::string_view text);

// The size of a chunk by the line before it, without the line's end; nothing for another line.
std::optional<std::uint64_t> read_chunk_size(std::string_view line);

}  // namespace cloche::net
