// SPDX-License-Identifier: Apache-2.0
// read_file and write_file.
#include <fmt/format.h>

#include "base/base64.h"
#include "base/utf8.h"
#include "doors/mcp/content.h"
#include "doors/mcp/tools/file_text.h"

namespace cloche::mcp {
namespace {

using Kind = Parameter::Kind;
using Need = Parameter::Need;

constexpr std::size_t beginning_bytes = 64 << 10;
constexpr std::uint64_t picture_limit_bytes = std::uint64_t{8} << 20;
constexpr std::int64_t usual_lines = 2000;

FileInfo file_info(const Files& files, const std::string& path) {
  FileInfo info = must(files.stat(path), path);
  if (info.kind == FileKind::directory) throw file_error(Errno::isdir, path);
  return info;
}

ToolResult read_bytes(Call& call, const Files& files, const std::string& path, const FileInfo& info,
                      std::string_view type) {
  const bool is_picture = type.starts_with("image/") && type != "image/svg+xml";
  const std::uint64_t most = is_picture ? picture_limit_bytes : blob_limit_bytes;
  if (info.size_bytes > most) {
    throw ToolError{
        fmt::format("EFBIG: {} has {} bytes and is no text; {} are the most that is shown", path,
                    info.size_bytes, most)};
  }
  const std::string bytes = must(files.read(path, most), path);
  ToolResult result;
  result.text = fmt::format("{}: {}, {} bytes", valid_utf8(path), type, bytes.size());
  if (is_picture) {
    result.more.push_back(image_content(type, bytes));
  } else {
    result.more.push_back({{"type", "resource"},
                           {"resource",
                            {{"uri", address_of(call.box().name(), absolute_path(path))},
                             {"mimeType", type},
                             {"blob", to_base64(bytes)}}}});
  }
  return result;
}

ToolResult run_read(Call& call) {
  const LiveSandbox live = call.live();
  const Files& files = live.sandbox->files();
  const std::string path = call.arguments().text("path");
  const FileInfo info = file_info(files, path);
  const std::string beginning = must(files.read_range(path, 0, beginning_bytes), path);
  const std::string type = mime_type(path, beginning);
  ToolResult result;
  bool truncated = false;
  if (is_text(beginning)) {
    const NumberedLines lines = numbered_lines(
        files, path, static_cast<std::uint64_t>(call.arguments().integer("offset", 1)),
        static_cast<std::uint64_t>(call.arguments().integer("limit", usual_lines)));
    truncated = lines.has_more;
    result.text = lines.text;
    if (lines.count == 0) {
      result.text = info.size_bytes == 0 ? "(the file is empty)"
                                         : fmt::format("(the file has {} lines)", lines.next - 1);
    } else if (lines.has_more) {
      result.text += fmt::format("[there is more: go on with offset {}]", lines.next);
    }
  } else {
    result = read_bytes(call, files, path, info, type);
  }
  result.structured = {{"path", valid_utf8(path)},
                       {"size", info.size_bytes},
                       {"mime_type", type},
                       {"truncated", truncated}};
  return result;
}

ToolResult run_write(Call& call) {
  const Arguments& arguments = call.arguments();
  const LiveSandbox live = call.live();
  Files& files = live.sandbox->files();
  const std::string path = arguments.text("path");
  if (arguments.has("content") == arguments.has("content_base64"))
    throw ToolError{"give one of the arguments 'content', for text, and 'content_base64'"};
  std::string content = arguments.text("content");
  if (const auto encoded = arguments.optional_text("content_base64")) {
    std::optional<std::string> bytes = from_base64(*encoded);
    if (!bytes) throw ToolError{"the argument 'content_base64' must be base64"};
    content = *std::move(bytes);
  }
  if (arguments.flag("append")) {
    must(files.append(path, content), path);
  } else {
    must(files.write(path, content), path);
  }
  const FileInfo info = must(files.stat(path), path);
  return {.text = fmt::format("{} {} bytes to {}, which has {} now",
                              arguments.flag("append") ? "Added" : "Wrote", content.size(),
                              valid_utf8(path), info.size_bytes),
          .structured = {{"path", valid_utf8(path)}, {"size", info.size_bytes}}};
}

}  // namespace

Tool read_file_tool() {
  Tool tool;
  tool.name = "read_file";
  tool.title = "Read a file";
  tool.description =
      "Reads a file of the sandbox. Text comes with line numbers, which are no part of it; of a "
      "long file 2,000 lines at a time, from the line offset on. A picture (PNG, JPEG, GIF, WebP) "
      "comes as a picture; other bytes as they are, up to 1 MiB. Example: {\"path\": "
      "\"/workspace/src/main.py\", \"offset\": 100, \"limit\": 50}";
  tool.parameters = {
      {"path", Kind::word, "Of the file: absolute, or from /workspace.", Need::required},
      {"offset", Kind::integer, "The first line (1).", Need::optional, 1, 1e9},
      {"limit", Kind::integer, "How many lines at most (2000).", Need::optional, 1, 1e6},
      sandbox_parameter()};
  tool.output = R"({"type":"object","properties":{"path":{"type":"string"},
"size":{"type":"integer","description":"in bytes"},"mime_type":{"type":"string"},
"truncated":{"type":"boolean","description":"there are further lines"}},
"required":["path","size","mime_type","truncated"]})";
  tool.run = run_read;
  tool.effect = Tool::Effect::reads;
  return tool;
}

Tool write_file_tool() {
  Tool tool;
  tool.name = "write_file";
  tool.title = "Write a file";
  tool.description =
      "Writes a file of the sandbox, or adds to it; what was in it is gone without append. Folders "
      "on the way are made. Example: {\"path\": \"/workspace/notes/todo.md\", \"content\": \"- "
      "tests\\n\"}. To change a part of a file use edit_file.";
  tool.parameters = {
      {"path", Kind::word, "Of the file: absolute, or from /workspace.", Need::required},
      {"content", Kind::text, "The text of the file. Instead of content_base64."},
      {"content_base64", Kind::text, "The bytes of the file in base64. Instead of content."},
      {"append", Kind::flag, "Add to what is there."},
      sandbox_parameter()};
  tool.output = R"({"type":"object","properties":{"path":{"type":"string"},
"size":{"type":"integer","description":"in bytes, afterwards"}},"required":["path","size"]})";
  tool.run = run_write;
  return tool;
}

}  // namespace cloche::mcp
