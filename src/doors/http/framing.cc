// SPDX-License-Identifier: Apache-2.0
#include "doors/http/framing.h"

#include <algorithm>
#include <string>
#include <vector>

namespace cloche::http {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

std::optional<std::string_view> framing_fault(const Request& head, unsigned version) {
  std::size_t hosts = 0;
  std::size_t lengths = 0;
  std::size_t codings = 0;
  for (const auto& [name, value] : head.fields) {
    if (same_text(name, "Host")) {
      ++hosts;
    } else if (same_text(name, "Content-Length")) {
      ++lengths;
      if (!is_number(value)) return "Content-Length must be a number";
    } else if (same_text(name, "Transfer-Encoding")) {
      ++codings;
      if (!same_text(value, "chunked")) return "the only Transfer-Encoding here is chunked";
    }
  }
  if (hosts > 1) return "there must be one Host field";
  if (hosts == 0 && version >= 11) return "there must be a Host field";
  if (lengths > 1) return "there must be one Content-Length field at most";
  if (codings > 1 || (codings > 0 && lengths > 0))
    return "there must be one field that says where the body ends";
  if (codings > 0 && version < 11) return "HTTP/1.0 has no Transfer-Encoding";
  return std::nullopt;
}

std::optional<std::string_view> to_origin_form(Request& head) {
  const std::size_t colon = std::min(head.target.find("://"), head.target.size());
  const std::string_view scheme = std::string_view(head.target).substr(0, colon);
  if (!same_text(scheme, "http") && !same_text(scheme, "https")) return std::nullopt;
  if (colon == head.target.size()) return std::nullopt;
  const std::string rest = head.target.substr(colon + 3);
  const std::size_t end = std::min(rest.find_first_of("/?#"), rest.size());
  const std::string name = rest.substr(0, end);
  if (name.empty() || name.find('@') != name.npos) return "the target names no server";
  head.target = (rest.substr(end).starts_with('/') ? "" : "/") + rest.substr(end);
  std::erase_if(head.fields, [](const auto& field) { return same_text(field.first, "Host"); });
  head.fields.emplace_back("Host", name);
  return std::nullopt;
}

std::optional<std::string_view> target_fault(const Request& head) {
  if (head.target.starts_with('/') || head.method == "CONNECT") return std::nullopt;
  if (head.method == "OPTIONS" && head.target == "*") return std::nullopt;
  return "the target must be a path";
}

void FoldFinder::take(std::string_view bytes) {
  for (std::size_t at = 0; at < bytes.size() && !found_;) {
    if (at_line_start_) found_ = bytes[at] == ' ' || bytes[at] == '\t';
    const std::size_t end = bytes.find('\n', at);
    at_line_start_ = end != std::string_view::npos;
    at = at_line_start_ ? end + 1 : bytes.size();
  }
}

}  // namespace cloche::http
