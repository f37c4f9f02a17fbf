// SPDX-License-Identifier: Apache-2.0
// str_replace_based_edit_tool: files as models trained on text_editor_20250728 handle them. Results
// are plain text.
#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "doors/mcp/content.h"
#include "doors/mcp/tools/file_text.h"

namespace cloche::mcp {
namespace {

using Kind = Parameter::Kind;
using Need = Parameter::Need;

constexpr std::uint64_t all_lines = 1'000'000'000;
constexpr std::size_t shown_depth = 2;
constexpr std::size_t shown_entries = 1000;
constexpr std::uint64_t insert_limit_bytes = std::uint64_t{64} << 20;

std::string needed(const Call& call, const char* name) {
  std::optional<std::string> text = call.arguments().optional_text(name);
  if (!text) {
    throw ToolError{fmt::format("the argument '{}' is missing: the command {} needs it", name,
                                call.arguments().text("command"))};
  }
  return *std::move(text);
}

void add_folder(const Files& files, const std::string& folder, std::size_t depth,
                std::size_t& count, std::string& text) {
  const auto entries = files.list(folder);
  if (!entries) return;
  for (const FileInfo& entry : *entries) {
    if (entry.name.starts_with('.') || count == shown_entries) continue;
    ++count;
    const std::string path = folder + (folder.ends_with('/') ? "" : "/") + entry.name;
    const bool is_folder = entry.kind == FileKind::directory;
    text += valid_utf8(path) + (is_folder ? "/\n" : "\n");
    if (is_folder && depth < shown_depth) add_folder(files, path, depth + 1, count, text);
  }
}

ToolResult view(Call& call, const Files& files, const std::string& path) {
  const FileInfo info = must(files.stat(path), path);
  const auto range = call.arguments().range("view_range");
  if (info.kind == FileKind::directory) {
    if (range) throw ToolError{"view_range is for files; this is a folder"};
    std::string text = fmt::format(
        "Here're the files and directories up to 2 levels deep in {}, excluding hidden "
        "items:\n{}\n",
        valid_utf8(path), valid_utf8(path));
    std::size_t count = 0;
    add_folder(files, path, 1, count, text);
    return {.text = std::move(text)};
  }
  const std::string beginning = must(files.read_range(path, 0, 64 << 10), path);
  if (const std::string_view type = picture_type(beginning); !type.empty()) {
    const std::string bytes = must(files.read(path, std::uint64_t{8} << 20), path);
    ToolResult result{.text = fmt::format("{}: {}", valid_utf8(path), type)};
    result.more.push_back(image_content(type, bytes));
    return result;
  }
  if (!is_text(beginning)) throw ToolError{fmt::format("{} is no text", valid_utf8(path))};
  std::uint64_t first = 1, most = all_lines;
  if (range) {
    if (range->first < 1 || (range->second != -1 && range->second < range->first)) {
      throw ToolError{
          "view_range must be [first, last]: lines from 1 on, last not before first, or -1 for the "
          "end"};
    }
    first = static_cast<std::uint64_t>(range->first);
    if (range->second != -1) most = static_cast<std::uint64_t>(range->second) - first + 1;
  }
  const NumberedLines lines = numbered_lines(files, path, first, most);
  if (lines.count == 0 && range) {
    throw ToolError{fmt::format("view_range begins behind the end: {} has {} lines",
                                valid_utf8(path), lines.next - 1)};
  }
  return {.text = lines.count == 0 ? "(the file is empty)" : lines.text};
}

// Some lines around a change, as the file has them now.
std::string around(const Files& files, const std::string& path, std::uint64_t line,
                   std::uint64_t count) {
  constexpr std::uint64_t margin = 4;
  const std::uint64_t first = line > margin ? line - margin : 1;
  return numbered_lines(files, path, first, line - first + count + margin).text;
}

std::uint64_t lines_in(std::string_view text) {
  return static_cast<std::uint64_t>(std::ranges::count(text, '\n')) + 1;
}

ToolResult replace(Call& call, Files& files, const std::string& path) {
  const std::string new_text = call.arguments().text("new_str");
  const Edit edit = edit_file(files, path, needed(call, "old_str"), new_text, Replace::one);
  return {.text = fmt::format("The file {} has been edited. Here is a part of it now:\n{}",
                              valid_utf8(path),
                              around(files, path, edit.first_line, lines_in(new_text)))};
}

ToolResult insert(Call& call, Files& files, const std::string& path) {
  if (!call.arguments().has("insert_line")) (void)needed(call, "insert_line");
  const auto line = static_cast<std::size_t>(call.arguments().integer("insert_line", 0));
  std::string added = call.arguments().has("insert_text") ? call.arguments().text("insert_text")
                                                          : needed(call, "new_str");
  const FileInfo before = must(files.stat(path), path);
  std::string text = must(files.read(path, insert_limit_bytes), path);
  std::size_t at = 0;
  std::size_t passed = 0;
  for (; passed < line && at < text.size(); ++passed)
    at = std::min(text.find('\n', at), text.size() - 1) + 1;
  if (passed < line) {
    throw ToolError{fmt::format("insert_line must be from 0 to {}, the number of lines", passed)};
  }
  if (at > 0 && text[at - 1] != '\n') added.insert(added.begin(), '\n');
  if (!added.ends_with('\n') && at < text.size()) added.push_back('\n');
  text.insert(at, added);
  must(files.write(path, text, before.mode), path);
  return {.text = fmt::format("The file {} has been edited. Here is a part of it now:\n{}",
                              valid_utf8(path), around(files, path, line + 1, lines_in(added)))};
}

ToolResult run_editor(Call& call) {
  const std::string command = call.arguments().text("command");
  const std::string path = call.arguments().text("path");
  const LiveSandbox live = call.live();
  Files& files = live.sandbox->files();
  if (command == "view") return view(call, files, path);
  if (command == "str_replace") return replace(call, files, path);
  if (command == "insert") return insert(call, files, path);
  must(files.write(path, needed(call, "file_text")), path);
  return {.text = fmt::format("File created successfully at: {}", valid_utf8(path))};
}

}  // namespace

Tool trained_editor_tool() {
  Tool tool;
  tool.name = "str_replace_based_edit_tool";
  tool.title = "Edit files";
  tool.description =
      "Views, creates and edits files. `view` shows a file with line numbers, or a folder; "
      "`create` writes a file; `str_replace` replaces a text that is there exactly once; `insert` "
      "puts text behind a line. Example: {\"command\": \"view\", \"path\": \"/workspace/app.py\", "
      "\"view_range\": [1, 40]}";
  tool.parameters = {{"command",
                      Kind::choice,
                      "What to do.",
                      Need::required,
                      0,
                      0,
                      {"view", "create", "str_replace", "insert"}},
                     {"path", Kind::word, "Of the file or folder: absolute.", Need::required},
                     {"view_range", Kind::range,
                      "For view: the first line and the last one; -1 for the end of the file.",
                      Need::optional, -1, 1e9},
                     {"file_text", Kind::text, "For create: what the file has."},
                     {"old_str", Kind::text, "For str_replace: what is to be replaced."},
                     {"new_str", Kind::text, "For str_replace: what it is replaced by."},
                     {"insert_line", Kind::integer,
                      "For insert: behind which line; 0 is the beginning.", Need::optional, 0, 1e9},
                     {"insert_text", Kind::text, "For insert: the text."}};
  tool.run = run_editor;
  return tool;
}

}  // namespace cloche::mcp
