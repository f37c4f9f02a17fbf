// SPDX-License-Identifier: Apache-2.0
// MessageList: an answer that is a list of messages, each of which becomes text when it comes: as
// values, thousands of them take ten times the memory of the text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"

namespace cloche::e2b {

class MessageList {
 public:
  // `name` is the list's in the answer: a word, without what JSON escapes.
  explicit MessageList(std::string_view name) : text_("{\"") {
    text_ += name;
    text_ += "\":[";
  }

  void add(const OrderedJson& message) {
    if (count_++ > 0) text_ += ',';
    text_ += write_json(message);
  }
  std::size_t size() const { return count_; }

  // The whole answer; it has no list where that has nothing.
  std::string take() && { return count_ == 0 ? "{}" : std::move(text_) + "]}"; }

 private:
  std::string text_;
  std::size_t count_ = 0;
};

}  // namespace cloche::e2b
