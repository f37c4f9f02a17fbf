// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/mount/tool_result.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/base64.h"
#include "base/json_lookup.h"
#include "doors/mcp/protocol.h"

namespace cloche::mcp::mount {
namespace {

// One part of a result: text, or bytes and how they are called.
struct Part {
  std::string bytes;
  std::string kind;  // empty: it is text
};

Part bytes_part(const OrderedJson& holder, const char* member, std::string_view usual_type) {
  const std::string* encoded = find_text(holder, member);
  std::optional<std::string> bytes = encoded == nullptr ? std::nullopt : from_base64(*encoded);
  const std::string* type = find_text(holder, "mimeType");
  const std::string kind = type == nullptr ? std::string(usual_type) : shown(*type);
  if (!bytes) return {{}, kind + ", which is broken"};
  return {*std::move(bytes), kind};
}

Part part_of(const OrderedJson& content) {
  const std::string* type = find_text(content, "type");
  if (type == nullptr) return {{}, "a kind that it does not say"};
  if (*type == "text") {
    const std::string* text = find_text(content, "text");
    return {text == nullptr ? std::string() : *text, {}};
  }
  if (*type == "image") return bytes_part(content, "data", "image/png");
  if (*type == "audio") return bytes_part(content, "data", "audio/wav");
  if (*type == "resource") {
    const OrderedJson& resource = member_or_null(content, "resource");
    if (const std::string* text = find_text(resource, "text")) return {*text, {}};
    return bytes_part(resource, "blob", "application/octet-stream");
  }
  if (*type == "resource_link") {
    const std::string* uri = find_text(content, "uri");
    return {uri == nullptr ? std::string() : *uri, {}};
  }
  return {{}, fmt::format("the kind '{}'", shown(*type))};
}

void add_line(std::string& to, std::string_view text) {
  to += text;
  if (!text.empty() && !text.ends_with('\n')) to += '\n';
}

}  // namespace

ToolOutput output_of(const OrderedJson& result, std::string_view command, std::size_t part) {
  constexpr int failed = 1;
  const OrderedJson& content = member_or_null(result, "content");
  const OrderedJson& is_error = member_or_null(result, "isError");
  const bool has_failed = is_error.is_boolean() && is_error.get<bool>();
  if (!content.is_array() && !member_or_null(result, "structuredContent").is_object())
    return {{}, fmt::format("{}: the tool server's answer has no content\n", command), failed};
  const std::size_t count = content.is_array() ? content.size() : 0;

  if (part > 0 && !has_failed) {
    if (part > count) {
      return {{},
              fmt::format("{}: the result has {} parts, and no part {}\n", command, count, part),
              failed};
    }
    return {part_of(content[part - 1]).bytes, {}, 0};
  }
  ToolOutput output;
  std::string text;
  std::size_t texts = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Part one = part_of(content[i]);
    if (one.kind.empty()) {
      ++texts;
      add_line(text, one.bytes);
      continue;
    }
    output.err += fmt::format(
        "{}: part {} of the result is {}, {} bytes, and not printed: --part {} > FILE is that "
        "alone\n",
        command, i + 1, one.kind, one.bytes.size(), i + 1);
  }
  // What is structured is told as text too, by servers that follow the protocol.
  if (count == 0 && !has_failed)
    add_line(text, write_json(member_or_null(result, "structuredContent")));
  if (has_failed) {
    if (text.empty()) text = fmt::format("{}: the tool failed, and does not say why\n", command);
    return {{}, std::move(text), failed};
  }
  output.out = std::move(text);
  if (count > 0 && texts == 0) output.status = failed;
  return output;
}

}  // namespace cloche::mcp::mount
