// SPDX-License-Identifier: Apache-2.0
#include "net/request_head.h"

#include <algorithm>
#include <charconv>

namespace cloche::net {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool is_same(std::string_view text, std::string_view lower_text) {
  return std::ranges::equal(text, lower_text, [](char a, char b) { return lower(a) == b; });
}

bool is_alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z');
}

bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return is_alphanumeric(c) ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

bool has_control(std::string_view text) {
  return std::ranges::any_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\t') || byte == 0x7f;
  });
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::optional<std::uint64_t> number(std::string_view text, int base) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// NAME, NAME:PORT, [ADDRESS], [ADDRESS]:PORT.
std::optional<std::string_view> name_of(std::string_view authority) {
  const std::size_t bracket = authority.starts_with('[') ? authority.find(']') : 0;
  if (bracket == std::string_view::npos) return std::nullopt;
  const std::size_t colon = std::min(authority.find(':', bracket), authority.size());
  const std::string_view port = authority.substr(colon);
  const std::string_view name = authority.substr(0, colon);
  if (!port.empty() && port.find_first_not_of("0123456789", 1) != std::string_view::npos)
    return std::nullopt;
  const bool is_name = std::ranges::all_of(name, [](char c) {
    return is_alphanumeric(c) ||
           std::string_view("-._~%!$&'()*+,;=[]:").find(c) != std::string_view::npos;
  });
  return is_name ? std::optional(name) : std::nullopt;
}

// "METHOD TARGET HTTP/1.1".
bool read_request_line(std::string_view line, RequestHead& head, bool& is_old) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return false;
  const std::string_view method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, last - first - 1);
  const std::string_view version = line.substr(last + 1);
  is_old = version == "HTTP/1.0";
  if (!is_token(method) || target.empty() || target.find_first_of(" \t") != target.npos ||
      !(is_old || version == "HTTP/1.1"))
    return false;
  head.is_origin_form = target.starts_with('/');
  head.is_answered_with_itself = method == "TRACE";
  if (method == "CONNECT") head.ending = Ending::never;
  return true;
}

}  // namespace

std::optional<RequestHead> read_request_head(std::string_view text) {
  RequestHead head;
  bool is_old = false;
  bool is_first = true;
  std::size_t hosts = 0;
  std::size_t bodies = 0;
  std::size_t authorizations = 0;
  bool leaves = false;
  for (;;) {
    const std::size_t end = text.find("\r\n");
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 2);
    if (line.empty()) break;
    if (has_control(line)) return std::nullopt;
    if (is_first) {
      if (!read_request_line(line, head, is_old)) return std::nullopt;
      is_first = false;
      continue;
    }
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) return std::nullopt;
    const std::string_view name = line.substr(0, colon);
    const std::string_view value = trim(line.substr(colon + 1));
    if (is_same(name, "host")) {
      const auto host = name_of(value);
      if (!host || ++hosts > 1) return std::nullopt;
      head.host = *host;
    } else if (is_same(name, "content-length")) {
      const auto length = number(value, 10);
      if (!length || ++bodies > 1) return std::nullopt;
      head.length = *length;
      if (head.ending == Ending::none && *length > 0) head.ending = Ending::length;
    } else if (is_same(name, "transfer-encoding")) {
      if (!is_same(value, "chunked") || is_old || ++bodies > 1) return std::nullopt;
      if (head.ending == Ending::none) head.ending = Ending::chunked;
    } else if (is_same(name, "upgrade")) {
      leaves = true;
    } else if (is_same(name, "authorization")) {
      head.authorization = ++authorizations > 1 ? std::string_view() : value;
    }
  }
  if (is_first) return std::nullopt;
  if (leaves) head.ending = Ending::never;
  return head;
}

std::optional<std::uint64_t> read_chunk_size(std::string_view line) {
  if (has_control(line)) return std::nullopt;
  return number(line.substr(0, line.find(';')), 16);
}

}  // namespace cloche::net
