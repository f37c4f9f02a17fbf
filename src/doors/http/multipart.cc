// SPDX-License-Identifier: Apache-2.0
#include "doors/http/multipart.h"

#include <algorithm>

#include "doors/http/message.h"

namespace cloche::http {
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

namespace {

// What comes next in a body: a part, or its end.
class PartReader {
 public:
  PartReader(std::string_view body, std::string_view boundary)
      : body_(body), next_("\r\n--" + std::string(boundary)) {
    const std::string_view first = std::string_view(next_).substr(2);
    at_ = body.starts_with(first) ? first.size() : body.find(next_);
    if (at_ != body.npos && !body.starts_with(first)) at_ += next_.size();
  }

  struct Part {
    std::string_view disposition;
    std::string_view content;
  };
  std::optional<Part> next() {
    if (at_ == body_.npos || body_.substr(at_, 2) != "\r\n") return std::nullopt;
    at_ += 2;
    const std::size_t head_end = body_.substr(at_, head_max_bytes).find("\r\n\r\n");
    if (head_end == body_.npos) return fail();
    const std::string_view head = body_.substr(at_, head_end);
    const std::size_t begin = at_ + head_end + 4;
    // Of an empty part the boundary's line break is the head's.
    const std::size_t end = body_.find(next_, begin - 2);
    if (end == body_.npos) return fail();
    at_ = end + next_.size();
    return Part{disposition(head),
                end < begin ? std::string_view() : body_.substr(begin, end - begin)};
  }
  // After the last part.
  bool is_whole() const { return at_ != body_.npos && body_.substr(at_, 2) == "--"; }

 private:
  std::optional<Part> fail() {
    at_ = body_.npos;
    return std::nullopt;
  }

  const std::string_view body_;
  const std::string next_;
  std::size_t at_ = 0;
};

FilePart file_of(const PartReader::Part& part) {
  return {parameter(part.disposition, "filename").value_or(""), part.content};
}

}  // namespace

std::optional<std::vector<FilePart>> find_parts(std::string_view body, std::string_view boundary,
                                                std::string_view name, std::size_t most) {
  PartReader reader(body, boundary);
  std::vector<FilePart> found;
  while (const auto part = reader.next()) {
    if (parameter(part->disposition, "name") != name) continue;
    if (found.size() == most) return std::nullopt;
    found.push_back(file_of(*part));
  }
  if (found.empty() || !reader.is_whole()) return std::nullopt;
  return found;
}

std::optional<FilePart> find_part(std::string_view body, std::string_view boundary,
                                  std::string_view name) {
  PartReader reader(body, boundary);
  while (const auto part = reader.next()) {
    if (parameter(part->disposition, "name") == name) return file_of(*part);
  }
  return std::nullopt;
}

}  // namespace cloche::http
