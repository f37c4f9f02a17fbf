// SPDX-License-Identifier: Apache-2.0
#include "doors/http/body_end.h"

#include <algorithm>

namespace cloche::http {
namespace {

constexpr std::size_t size_digits_max = 15;
constexpr std::size_t extension_max_bytes = 256;
constexpr std::size_t trailers_max_bytes = 8 << 10;

}  // namespace

std::size_t BodyEnd::take(std::string_view bytes) {
  std::size_t at = 0;
  while (at < bytes.size() && !is_done() && !is_broken()) {
    if (state_ == State::length || state_ == State::data) {
      const auto part = std::min<std::uint64_t>(left_, bytes.size() - at);
      left_ -= part;
      at += static_cast<std::size_t>(part);
      skip_nothing();
    } else {
      step(bytes[at]);
      if (!is_broken()) ++at;
    }
  }
  return at;
}

// A body without a byte left has ended.
void BodyEnd::skip_nothing() {
  if (left_ > 0) return;
  if (state_ == State::length) state_ = State::done;
  if (state_ == State::data) state_ = State::data_end;
}

void BodyEnd::read_size(char c) {
  unsigned digit = 0;
  if (c >= '0' && c <= '9') {
    digit = static_cast<unsigned>(c - '0');
  } else if (c >= 'a' && c <= 'f') {
    digit = static_cast<unsigned>(c - 'a') + 10;
  } else if (c >= 'A' && c <= 'F') {
    digit = static_cast<unsigned>(c - 'A') + 10;
  } else if (digits_ > 0 && (c == '\r' || c == ';')) {
    line_bytes_ = 0;
    state_ = c == '\r' ? State::size_end : State::extension;
    return;
  } else {
    state_ = State::broken;
    return;
  }
  left_ = left_ * 16 + digit;
  if (++digits_ > size_digits_max) state_ = State::broken;
}

void BodyEnd::step(char c) {
  const auto expect = [&](char wanted, State next) { state_ = c == wanted ? next : State::broken; };
  switch (state_) {
    case State::size: return read_size(c);
    case State::extension:
      if (c == '\r') {
        state_ = State::size_end;
      } else if (c == '\n' || ++line_bytes_ > extension_max_bytes) {
        state_ = State::broken;
      }
      return;
    case State::size_end:
      line_bytes_ = 0;
      return expect('\n', left_ > 0 ? State::data : State::trailer);
    case State::data_end: return expect('\r', State::data_line);
    case State::data_line: left_ = digits_ = 0; return expect('\n', State::size);
    case State::trailer:
    case State::trailer_line:
      if (c == '\r') {
        state_ = state_ == State::trailer ? State::last_end : State::trailer_end;
      } else {
        state_ =
            c == '\n' || ++line_bytes_ > trailers_max_bytes ? State::broken : State::trailer_line;
      }
      return;
    case State::trailer_end: return expect('\n', State::trailer);
    case State::last_end: return expect('\n', State::done);
    default: state_ = State::broken;
  }
}

}  // namespace cloche::http
