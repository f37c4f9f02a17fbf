// SPDX-License-Identifier: Apache-2.0
#include "doors/http/field_words.h"

#include <algorithm>

namespace cloche::http {
namespace {

constexpr std::string_view blanks = " \t";

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

}  // namespace

std::vector<std::string_view> field_words(const Fields& fields, std::string_view name) {
  std::vector<std::string_view> words;
  for (const auto& [field, value] : fields) {
    if (!same_text(field, name)) continue;
    const std::string_view list = value;
    for (std::size_t at = 0; at < list.size();) {
      const std::size_t end = std::min(list.find(',', at), list.size());
      if (const std::string_view word = trimmed(list.substr(at, end - at)); !word.empty())
        words.push_back(word);
      at = end + 1;
    }
  }
  return words;
}

bool has_word(const Fields& fields, std::string_view name, std::string_view word) {
  return std::ranges::any_of(field_words(fields, name),
                             [word](std::string_view each) { return same_text(each, word); });
}

}  // namespace cloche::http
