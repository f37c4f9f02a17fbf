// SPDX-License-Identifier: Apache-2.0
// CellOutput: one stream of what a kernel writes while it runs a cell: text of the cell, and the
// kernel's own records between it (kernels/python.py says what they look like).
//
// A guest can write anything: a record is no more to be trusted than text. One thread at a time.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace cloche::e2b {

class CellOutput {
 public:
  struct Reader {
    // Whole characters; what is none is U+FFFD.
    std::function<void(std::string text)> text;
    std::function<void(std::string_view record)> record;
  };
  // A longer record is given as an empty one.
  static constexpr std::size_t record_max_bytes = 8 << 20;

  // Records are those with that mark.
  explicit CellOutput(const std::string& mark) : start_("\x1e" + mark) {}

  void take(std::string_view bytes, const Reader& reader);
  // Nothing more comes: what waited for more is text.
  void finish(const Reader& reader);

 private:
  void take_text(std::string_view bytes, const Reader& reader);
  void flush_text(const Reader& reader);

  const std::string start_;
  std::string begun_;  // of what may be the start of a record
  bool in_record_ = false;
  bool too_long_ = false;
  std::string record_;
  std::string text_;  // whose last character may not be whole
};

}  // namespace cloche::e2b
