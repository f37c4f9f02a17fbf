// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/tools/text_edit.h"

#include <fmt/format.h>

#include <algorithm>
#include <bitset>
#include <vector>

#include "base/utf8.h"
#include "doors/mcp/tool_error.h"

namespace cloche::mcp {
namespace {

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

// The lines of a text, by their number and by a place in it.
class LineTable {
 public:
  explicit LineTable(std::string_view text) : lines_(lines_of(text)), size_(text.size()) {
    begins_.reserve(lines_.size());
    for (const std::string_view line : lines_)
      begins_.push_back(static_cast<std::size_t>(line.data() - text.data()));
  }

  const std::vector<std::string_view>& lines() const { return lines_; }
  // Where a line begins; the end of the text for the one after the last.
  std::size_t begin_of(std::size_t line) const {
    return line < begins_.size() ? begins_[line] : size_;
  }
  // The line that has the byte at `place`, which the text has.
  std::size_t line_of(std::size_t place) const {
    return static_cast<std::size_t>(std::ranges::upper_bound(begins_, place) - begins_.begin()) - 1;
  }
  // The first line that begins at `place` or after it.
  std::size_t line_from(std::size_t place) const {
    return static_cast<std::size_t>(std::ranges::lower_bound(begins_, place) - begins_.begin());
  }

 private:
  std::vector<std::string_view> lines_;
  std::vector<std::size_t> begins_;
  std::size_t size_;
};

// Lines of the old text in which something is replaced, and the bytes that they are in the new one.
struct Span {
  std::size_t from, to;
  std::size_t begin, end;
};

// Wherever it is; the new text goes to `result`.
std::vector<Span> replace_in(std::string_view text, const LineTable& lines,
                             std::string_view old_text, std::string_view new_text,
                             std::string& result) {
  std::vector<Span> spans;
  std::size_t at = 0;
  for (std::size_t found = text.find(old_text); found != std::string_view::npos;
       found = text.find(old_text, at)) {
    result.append(text.substr(at, found - at));
    const std::size_t from = lines.line_of(found);
    const std::size_t to = lines.line_of(found + old_text.size() - 1) + 1;
    if (!spans.empty() && from < spans.back().to) {
      spans.back().to = to;
    } else {
      spans.push_back({from, to, result.size() - (found - lines.begin_of(from)), 0});
    }
    result.append(new_text);
    at = found + old_text.size();
    spans.back().end = result.size() + (lines.begin_of(to) - at);
  }
  result.append(text.substr(at));
  return spans;
}

std::vector<Change> changes_of(const std::vector<Span>& spans, const LineTable& old_lines,
                               std::string_view new_text, const LineTable& new_lines) {
  std::vector<Change> changes;
  for (const Span& span : spans) {
    std::size_t to = span.to;
    std::size_t end = span.end;
    // Where the end of the last line went too, the next one has become part of it.
    while (end > 0 && end < new_text.size() && new_text[end - 1] != '\n' &&
           to < old_lines.lines().size()) {
      end += old_lines.lines()[to].size();
      ++to;
    }
    const std::size_t new_to = new_lines.line_from(std::min(end, new_text.size()));
    if (!changes.empty() && span.from < changes.back().old_to) {
      changes.back().old_to = to;
      changes.back().new_to = new_to;
    } else {
      changes.push_back({span.from, to, new_lines.line_from(span.begin), new_to});
    }
  }
  return changes;
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

// The line that is most like `wanted`: its number, and itself.
struct NearestLine {
  std::size_t number = 0;  // 0: there is none that is like it
  std::string_view text;
};

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

Edit edit_text(const std::string& path, std::string_view text, std::string_view old_text,
               std::string_view new_text, Replace replace) {
  if (old_text.empty())
    throw ToolError{"old_text must not be empty: use write_file for a new file"};
  if (old_text == new_text) throw ToolError{"old_text and new_text are the same: nothing to do"};
  std::string old_with_crlf, new_with_crlf;
  Edit edit;
  edit.replacements = count_of(text, old_text);
  if (text.find("\r\n") != std::string_view::npos) {
    new_with_crlf = with_crlf(new_text);
    new_text = new_with_crlf;
    if (edit.replacements == 0) {
      old_with_crlf = with_crlf(old_text);
      old_text = old_with_crlf;
      edit.replacements = count_of(text, old_text);
    }
  }
  if (edit.replacements == 0) not_there(path, text, old_text);
  if (edit.replacements > 1 && replace == Replace::one) {
    throw ToolError{
        fmt::format("old_text is in {} {} times: give more of what is around it, or "
                    "replace_all",
                    path, edit.replacements)};
  }
  const LineTable old_lines(text);
  const std::vector<Span> spans = replace_in(text, old_lines, old_text, new_text, edit.text);
  const LineTable new_lines(edit.text);
  const std::vector<Change> changes = changes_of(spans, old_lines, edit.text, new_lines);
  edit.first_line = changes.front().new_from + 1;
  edit.diff = diff_of(old_lines.lines(), new_lines.lines(), changes);
  return edit;
}

}  // namespace cloche::mcp
