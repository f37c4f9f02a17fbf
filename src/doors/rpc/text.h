// SPDX-License-Identifier: Apache-2.0
// UTF-8 that arrives in pieces.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace cloche::rpc {

// Cuts a byte stream where no character is split: `take` returns what is complete of the bytes so
// far and keeps the start of an unfinished character (three bytes at most) for the next call.
class Utf8Cutter {
 public:
  std::string take(std::string_view bytes);
  // What is left at the end.
  std::string rest() { return std::exchange(kept_, {}); }

 private:
  std::string kept_;
};

}  // namespace cloche::rpc
