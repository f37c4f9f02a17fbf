// SPDX-License-Identifier: Apache-2.0
// BodyEnd: where the body of a request of HTTP/1.1 ends, for who passes it on as it comes. What
// another program could read as an earlier or a later end is broken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cloche::http {

class BodyEnd {
 public:
  // By Content-Length; 0: there is no body.
  static BodyEnd after(std::uint64_t length_bytes) { return {State::length, length_bytes}; }
  // By Transfer-Encoding: chunked.
  static BodyEnd of_chunks() { return {State::size, 0}; }

  // How many of the next bytes belong to the body; less than all where it ends with them, or is
  // broken.
  std::size_t take(std::string_view bytes);

  bool is_done() const noexcept { return state_ == State::done; }
  bool is_broken() const noexcept { return state_ == State::broken; }

 private:
  enum class State : std::uint8_t {
    length,
    size,          // hex digits
    extension,     // after them
    size_end,      // the LF of that line
    data,          // of a chunk
    data_end,      // its CR
    data_line,     // its LF
    trailer,       // at the start of a line
    trailer_line,  // within one
    trailer_end,   // the LF of such a line
    last_end,      // the LF of the empty one
    done,
    broken,
  };
  BodyEnd(State state, std::uint64_t left) : state_(state), left_(left) { skip_nothing(); }
  void skip_nothing();
  void step(char c);
  void read_size(char c);

  State state_;
  std::uint64_t left_;          // of the body, or of a chunk
  std::size_t digits_ = 0;      // of a chunk's size
  std::size_t line_bytes_ = 0;  // of an extension, or of all trailers
};

}  // namespace cloche::http
