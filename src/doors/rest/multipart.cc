// SPDX-License-Identifier: Apache-2.0
#include "doors/rest/multipart.h"

#include "doors/http/message.h"

namespace cloche::rest {
namespace {

constexpr std::size_t head_max_bytes = 16 << 10;

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// The value of a parameter such as filename="a\"b"; of `; name=value` lists.
std::optional<std::string> parameter(std::string_view text, std::string_view name) {
  std::size_t at = text.find(';');
  while (at < text.size()) {
    ++at;
    const std::size_t equals = text.find('=', at);
    if (equals == std::string_view::npos) return std::nullopt;
    const std::string_view key = trim(text.substr(at, equals - at));
    at = equals + 1;
    while (at < text.size() && text[at] == ' ') ++at;
    std::string value;
    if (at < text.size() && text[at] == '"') {
      for (++at; at < text.size() && text[at] != '"'; ++at) {
        if (text[at] == '\\' && at + 1 < text.size()) ++at;
        value += text[at];
      }
      at = text.find(';', at);
    } else {
      const std::size_t end = std::min(text.find(';', at), text.size());
      value = trim(text.substr(at, end - at));
      at = end;
    }
    if (http::same_text(key, name)) return value;
  }
  return std::nullopt;
}

// The value of a part's Content-Disposition.
std::string_view disposition(std::string_view head) {
  while (!head.empty()) {
    const std::size_t end = std::min(head.find("\r\n"), head.size());
    const std::string_view line = head.substr(0, end);
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos &&
        http::same_text(trim(line.substr(0, colon)), "Content-Disposition"))
      return trim(line.substr(colon + 1));
    head.remove_prefix(std::min(end + 2, head.size()));
  }
  return {};
}

}  // namespace

std::optional<std::string> multipart_boundary(std::string_view content_type) {
  if (!http::same_text(trim(content_type.substr(0, content_type.find(';'))), "multipart/form-data"))
    return std::nullopt;
  std::optional<std::string> boundary = parameter(content_type, "boundary");
  if (!boundary || boundary->empty() || boundary->size() > 200) return std::nullopt;
  return boundary;
}

std::optional<FilePart> find_part(std::string_view body, std::string_view boundary,
                                  std::string_view name) {
  const std::string first = "--" + std::string(boundary);
  const std::string next = "\r\n" + first;
  std::size_t at = body.starts_with(first) ? 0 : body.find(next);
  if (at == std::string_view::npos) return std::nullopt;
  at += at == 0 ? first.size() : next.size();
  while (body.substr(at, 2) == "\r\n") {
    at += 2;
    const std::size_t head_end = body.substr(at, head_max_bytes).find("\r\n\r\n");
    if (head_end == std::string_view::npos) return std::nullopt;
    const std::string_view head = body.substr(at, head_end);
    at += head_end + 4;
    // Of an empty part the boundary's line break is the head's.
    const std::size_t end = body.find(next, at - 2);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view value = disposition(head);
    if (parameter(value, "name") == name) {
      return FilePart{parameter(value, "filename").value_or(""),
                      end < at ? std::string_view() : body.substr(at, end - at)};
    }
    at = end + next.size();
  }
  return std::nullopt;
}

}  // namespace cloche::rest
