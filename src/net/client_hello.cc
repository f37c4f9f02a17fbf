// SPDX-License-Identifier: Apache-2.0
#include "net/client_hello.h"

#include <cstddef>
#include <optional>

namespace cloche::net {
namespace {

// What follows a length of so many bytes, to the text's end; nothing for another length.
std::optional<std::string_view> rest_after_length(std::string_view text, std::size_t digits) {
  if (text.size() < digits) return std::nullopt;
  std::size_t length = 0;
  for (const char c : text.substr(0, digits)) length = length << 8 | static_cast<unsigned char>(c);
  text.remove_prefix(digits);
  return length == text.size() ? std::optional(text) : std::nullopt;
}

}  // namespace

std::string_view read_server_name(std::string_view extension) {
  constexpr char host_name = 0;
  const auto list = rest_after_length(extension, 2);
  if (!list || list->empty() || list->front() != host_name) return {};
  return rest_after_length(list->substr(1), 2).value_or(std::string_view());
}

bool offers_protocol(std::string_view extension, std::string_view protocol) {
  std::string_view list = rest_after_length(extension, 2).value_or(std::string_view());
  bool is_there = false;
  while (!list.empty()) {
    const auto length = static_cast<unsigned char>(list.front());
    list.remove_prefix(1);
    if (length == 0 || length > list.size()) return false;
    is_there |= list.substr(0, length) == protocol;
    list.remove_prefix(length);
  }
  return is_there;
}

}  // namespace cloche::net
