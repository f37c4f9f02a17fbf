// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/tools/file_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"

namespace cloche::mcp {
namespace {

constexpr std::size_t block_bytes = 1U << 20;
constexpr std::size_t text_limit_bytes = 200'000;
constexpr std::size_t line_limit_bytes = 20'000;
constexpr std::uint64_t edit_limit_bytes = std::uint64_t{64} << 20;

}  // namespace

std::string absolute_path(std::string_view path) {
  return path.starts_with('/') ? std::string(path) : fmt::format("/workspace/{}", path);
}

NumberedLines numbered_lines(const Files& files, const std::string& path, std::uint64_t first,
                             std::uint64_t most) {
  NumberedLines result;
  std::uint64_t number = 1;
  std::string line;
  std::uint64_t left_out = 0;  // bytes of the line
  const auto end_line = [&] {
    if (number >= first) {
      result.text += fmt::format("{:6}\t{}", number, valid_utf8(line));
      if (left_out > 0) result.text += fmt::format(" [... {} bytes of the line]", left_out);
      result.text += '\n';
      ++result.count;
    }
    line.clear();
    left_out = 0;
    ++number;
  };
  bool in_line = false;
  for (std::uint64_t offset = 0; !result.has_more;) {
    const std::string block = must(files.read_range(path, offset, block_bytes), path);
    if (block.empty()) break;
    offset += block.size();
    for (std::string_view rest = block; !rest.empty();) {
      if (result.count == most || result.text.size() > text_limit_bytes) {
        result.has_more = true;
        break;
      }
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      const std::size_t kept =
          std::min(end, line_limit_bytes - std::min(line_limit_bytes, line.size()));
      if (number >= first) line.append(rest.substr(0, kept));
      left_out += end - kept;
      in_line = end == rest.size();
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (!in_line) end_line();
    }
  }
  if (in_line && !result.has_more) end_line();
  result.next = number;
  return result;
}

Edit edit_file(Files& files, const std::string& path, std::string_view old_text,
               std::string_view new_text, Replace replace) {
  const FileInfo before = must(files.stat(path), path);
  if (before.kind == FileKind::directory) throw file_error(Errno::isdir, path);
  const std::string text = must(files.read(path, edit_limit_bytes), path);
  Edit edit = edit_text(path, text, old_text, new_text, replace);
  must(files.write(path, edit.text, before.mode), path);
  const Result<FileInfo> after = files.stat(path);
  if (after && after->mode != before.mode) must(files.change_mode(path, before.mode), path);
  return edit;
}

}  // namespace cloche::mcp
