// SPDX-License-Identifier: Apache-2.0
// OrderedOutput: what waits to be sent of two streams, in the order in which it was written. Who
// reads both sees what was said first first, such as an error before the answer that ends it all.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <utility>

#include "cloche/run.h"

namespace cloche::ssh {

class OrderedOutput {
 public:
  struct Piece {
    Stream stream;
    std::string text;
  };

  void add(Stream stream, std::string_view text) {
    if (text.empty()) return;
    if (pieces_.empty() || pieces_.back().stream != stream) pieces_.push_back({stream, {}});
    pieces_.back().text += text;
    bytes_ += text.size();
  }
  bool empty() const noexcept { return pieces_.empty(); }
  // In memory.
  std::size_t size_bytes() const noexcept { return bytes_ + pieces_.size() * sizeof(Piece); }
  void clear() noexcept {
    pieces_.clear();
    bytes_ = 0;
  }
  // Gives its pieces to `send`, which takes off a text what it can: what is left of one ends that.
  // True when something was taken.
  template <typename Send>
  bool send_by(Send send) {
    bool moved = false;
    while (!pieces_.empty()) {
      Piece& piece = pieces_.front();
      const std::size_t before = piece.text.size();
      send(piece.stream, piece.text);
      bytes_ -= before - piece.text.size();
      moved = moved || piece.text.size() < before;
      if (!piece.text.empty()) break;
      pieces_.pop_front();
    }
    return moved;
  }
  friend void swap(OrderedOutput& one, OrderedOutput& other) noexcept {
    one.pieces_.swap(other.pieces_);
    std::swap(one.bytes_, other.bytes_);
  }

 private:
  std::deque<Piece> pieces_;  // two that follow each other are of two streams
  std::size_t bytes_ = 0;
};

}  // namespace cloche::ssh
