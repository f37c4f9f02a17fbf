// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/cell_output.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"

namespace cloche::e2b {
namespace {

// How many bytes at the end may be the beginning of a character.
std::size_t unfinished(std::string_view text) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xC0) == 0x80) continue;
    const std::size_t size = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
    return size > back ? back : 0;
  }
  return 0;
}

}  // namespace

void CellOutput::take(std::string_view bytes, const Reader& reader) {
  while (!bytes.empty()) {
    if (in_record_) {
      const std::size_t end = std::min(bytes.find('\n'), bytes.size());
      if (record_.size() + end > record_max_bytes) {
        too_long_ = true;
        record_.clear();
      }
      if (!too_long_) record_ += bytes.substr(0, end);
      bytes.remove_prefix(end);
      if (bytes.empty()) break;
      bytes.remove_prefix(1);
      in_record_ = false;
      too_long_ = false;
      reader.record(record_);
      record_ = {};
      continue;
    }
    if (!begun_.empty()) {
      if (bytes.front() != start_[begun_.size()]) {
        take_text(std::exchange(begun_, {}), reader);
        continue;
      }
      begun_ += bytes.front();
      bytes.remove_prefix(1);
      if (begun_.size() == start_.size()) {
        begun_.clear();
        in_record_ = true;
        flush_text(reader);
      }
      continue;
    }
    const std::size_t mark = std::min(bytes.find(start_.front()), bytes.size());
    take_text(bytes.substr(0, mark), reader);
    bytes.remove_prefix(mark);
    if (bytes.empty()) break;
    begun_ = bytes.substr(0, 1);
    bytes.remove_prefix(1);
  }
}

void CellOutput::take_text(std::string_view bytes, const Reader& reader) {
  text_ += bytes;
  const std::size_t whole = text_.size() - unfinished(text_);
  if (whole == 0) return;
  reader.text(valid_utf8(std::string_view(text_).substr(0, whole)));
  text_.erase(0, whole);
}

void CellOutput::flush_text(const Reader& reader) {
  if (!text_.empty()) reader.text(valid_utf8(std::exchange(text_, {})));
}

void CellOutput::finish(const Reader& reader) {
  take_text(std::exchange(begun_, {}), reader);
  flush_text(reader);
  in_record_ = false;
  record_ = {};
}

}  // namespace cloche::e2b
