// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/tools/file_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <bitset>

#include "base/utf8.h"

namespace cloche::mcp {
namespace {

constexpr std::size_t block_bytes = 1U << 20;
constexpr std::size_t text_limit_bytes = 200'000;
constexpr std::size_t line_limit_bytes = 20'000;
constexpr std::uint64_t edit_limit_bytes = std::uint64_t{64} << 20;
constexpr std::size_t context_lines = 3;
constexpr std::size_t diff_limit_bytes = 30'000;

std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos;
       at = text.find(part, at + part.size()))
    ++count;
  return count;
}

std::string with_crlf(std::string_view text) {
  std::string lines;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\n' && (at == 0 || text[at - 1] != '\r')) lines += '\r';
    lines += text[at];
  }
  return lines;
}

// The lines of a text, each with its end.
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::size_t size = end == std::string_view::npos ? text.size() : end + 1;
    lines.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return lines;
}

void add_lines(std::string& diff, char sign, const std::vector<std::string_view>& lines,
               std::size_t from, std::size_t to) {
  for (std::size_t at = from; at < to; ++at) {
    std::string_view line = lines[at];
    const bool has_end = line.ends_with('\n');
    if (has_end) line.remove_suffix(1);
    diff += sign;
    diff += valid_utf8(line);
    diff += has_end ? "\n" : "\n\\ No newline at end of file\n";
  }
}

// A run of lines that is replaced by another one.
struct Change {
  std::size_t old_from, old_to;
  std::size_t new_from, new_to;
};

std::string range_text(std::size_t from, std::size_t to) {
  const std::size_t count = to - from;
  const std::size_t first = count == 0 ? from : from + 1;
  return count == 1 ? std::to_string(first) : fmt::format("{},{}", first, count);
}

// Changes that are near each other stand together.
std::string diff_of(const std::vector<std::string_view>& old_lines,
                    const std::vector<std::string_view>& new_lines,
                    const std::vector<Change>& changes) {
  std::string diff;
  for (std::size_t at = 0; at < changes.size();) {
    std::size_t end = at + 1;
    while (end < changes.size() &&
           changes[end].old_from - changes[end - 1].old_to <= 2 * context_lines)
      ++end;
    const Change& first = changes[at];
    const Change& last = changes[end - 1];
    const std::size_t before = std::min(context_lines, first.old_from);
    const std::size_t after = std::min(context_lines, old_lines.size() - last.old_to);
    diff += fmt::format("@@ -{} +{} @@\n", range_text(first.old_from - before, last.old_to + after),
                        range_text(first.new_from - before, last.new_to + after));
    std::size_t place = first.old_from - before;
    for (; at < end; ++at) {
      add_lines(diff, ' ', old_lines, place, changes[at].old_from);
      add_lines(diff, '-', old_lines, changes[at].old_from, changes[at].old_to);
      add_lines(diff, '+', new_lines, changes[at].new_from, changes[at].new_to);
      place = changes[at].old_to;
    }
    add_lines(diff, ' ', old_lines, place, place + after);
    if (diff.size() > diff_limit_bytes) {
      diff = valid_utf8(std::string_view(diff).substr(0, diff_limit_bytes)) +
             "\n[... there is more]\n";
      break;
    }
  }
  return diff;
}

std::string_view trimmed(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return line.substr(first, line.find_last_not_of(" \t\r\n") - first + 1);
}

// Which pairs of neighbouring bytes a line has: lines that are alike have many in common.
using Pairs = std::bitset<4096>;
Pairs pairs_of(std::string_view line) {
  constexpr std::size_t most = 500;
  line = line.substr(0, most);
  Pairs pairs;
  for (std::size_t at = 0; at + 1 < line.size(); ++at) {
    const auto pair =
        static_cast<unsigned char>(line[at]) * 31U + static_cast<unsigned char>(line[at + 1]) * 17U;
    pairs.set(pair % pairs.size());
  }
  return pairs;
}

[[noreturn]] void not_there(const std::string& path, std::string_view text,
                            std::string_view old_text) {
  std::string_view wanted;
  for (const std::string_view line : lines_of(old_text)) {
    if (wanted = trimmed(line); !wanted.empty()) break;
  }
  const NearestLine nearest = nearest_line(text, wanted);
  throw ToolError{fmt::format("old_text is not in {}{}", path,
                              nearest.number == 0
                                  ? std::string(": read the file again")
                                  : fmt::format("; the nearest is line {}: {}", nearest.number,
                                                valid_utf8(trimmed(nearest.text).substr(0, 200))))};
}

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

NearestLine nearest_line(std::string_view text, std::string_view wanted) {
  constexpr std::size_t most_lines = 20'000;
  const Pairs pairs = pairs_of(wanted);
  NearestLine nearest;
  double best = 0.3;  // below it nothing is alike
  std::size_t number = 0;
  while (!text.empty() && number < most_lines) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    const Pairs own = pairs_of(trimmed(line));
    const std::size_t together = own.count() + pairs.count();
    const double likeness = together == 0 ? 0
                                          : 2.0 * static_cast<double>((own & pairs).count()) /
                                                static_cast<double>(together);
    if (likeness > best) {
      best = likeness;
      nearest = {number, line};
    }
  }
  return nearest;
}

Edit edit_text(const std::string& path, std::string_view text, std::string_view old_text,
               std::string_view new_text, Replace replace) {
  if (old_text.empty())
    throw ToolError{"old_text must not be empty: use write_file for a new file"};
  if (old_text == new_text) throw ToolError{"old_text and new_text are the same: nothing to do"};
  std::string old_lines_ends, new_line_ends;
  std::size_t count = count_of(text, old_text);
  if (text.find("\r\n") != std::string_view::npos) {
    new_line_ends = with_crlf(new_text);
    new_text = new_line_ends;
    if (count == 0) {
      old_lines_ends = with_crlf(old_text);
      old_text = old_lines_ends;
      count = count_of(text, old_text);
    }
  }
  if (count == 0) not_there(path, text, old_text);
  if (count > 1 && replace == Replace::one) {
    throw ToolError{
        fmt::format("old_text is in {} {} times: give more of what is around it, or "
                    "replace_all",
                    path, count)};
  }
  Edit edit;
  edit.replacements = count;
  const std::vector<std::string_view> old_lines = lines_of(text);
  // Where each line begins, so that a place is found by its line.
  std::vector<std::size_t> old_begins;
  old_begins.reserve(old_lines.size());
  for (const std::string_view line : old_lines)
    old_begins.push_back(static_cast<std::size_t>(line.data() - text.data()));
  const auto line_at = [&](std::size_t place) {
    return static_cast<std::size_t>(std::ranges::upper_bound(old_begins, place) -
                                    old_begins.begin()) -
           1;
  };
  struct Span {
    std::size_t from, to;    // lines of the old text
    std::size_t begin, end;  // bytes of the new one
  };
  std::vector<Span> spans;
  std::size_t at = 0;
  for (std::size_t found = text.find(old_text); found != std::string_view::npos;
       found = text.find(old_text, at)) {
    edit.text.append(text.substr(at, found - at));
    const std::size_t from = line_at(found);
    const std::size_t to = line_at(found + old_text.size() - 1) + 1;
    if (!spans.empty() && from < spans.back().to) {
      spans.back().to = to;
    } else {
      spans.push_back({from, to, edit.text.size() - (found - old_begins[from]), 0});
    }
    edit.text.append(new_text);
    at = found + old_text.size();
    const std::size_t line_end = to < old_begins.size() ? old_begins[to] : text.size();
    spans.back().end = edit.text.size() + (line_end - at);
  }
  edit.text.append(text.substr(at));

  const std::vector<std::string_view> new_lines = lines_of(edit.text);
  std::vector<std::size_t> new_begins;
  new_begins.reserve(new_lines.size());
  for (const std::string_view line : new_lines)
    new_begins.push_back(static_cast<std::size_t>(line.data() - edit.text.data()));
  const auto new_line = [&](std::size_t place) {
    return static_cast<std::size_t>(std::ranges::lower_bound(new_begins, place) -
                                    new_begins.begin());
  };
  std::vector<Change> changes;
  for (const Span& span : spans) {
    std::size_t to = span.to;
    std::size_t end = span.end;
    // Where the end of the last line went too, the next one has become part of it.
    while (end > 0 && end < edit.text.size() && edit.text[end - 1] != '\n' &&
           to < old_lines.size()) {
      end += old_lines[to].size();
      ++to;
    }
    const std::size_t new_to = new_line(std::min(end, edit.text.size()));
    if (!changes.empty() && span.from < changes.back().old_to) {
      changes.back().old_to = to;
      changes.back().new_to = new_to;
    } else {
      changes.push_back({span.from, to, new_line(span.begin), new_to});
    }
  }
  edit.first_line = changes.front().new_from + 1;
  edit.diff = diff_of(old_lines, new_lines, changes);
  return edit;
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
