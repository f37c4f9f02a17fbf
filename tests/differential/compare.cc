// SPDX-License-Identifier: Apache-2.0
#include "compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>

namespace cloche::differential {
namespace {

constexpr std::size_t most_diff_lines = 60;
constexpr std::size_t most_table_lines = 2000;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = text.find('\n', start);
    if (end == std::string::npos) {
      lines.push_back(text.substr(start) + "\\ (no newline)");
      break;
    }
    lines.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return lines;
}

std::string visible(const std::string& line) {
  std::string out;
  for (const char c : line.substr(0, 2000)) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\t') || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out;
}

std::string sorted_lines(const std::string& text) {
  std::vector<std::string> lines = lines_of(text);
  std::ranges::sort(lines);
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

std::string without_dropped(const Case& each, const std::string& text) {
  std::string rest;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size() - 1) + 1;
    const std::string_view line = std::string_view(text).substr(start, end - start);
    const bool drop = std::ranges::any_of(
        each.dropped, [line](const std::string& part) { return line.find(part) != line.npos; });
    if (!drop) rest += line;
    start = end;
  }
  return rest;
}

std::string replaced(const Case& each, std::string text) {
  if (!each.dropped.empty()) text = without_dropped(each, text);
  for (const Replacement& replacement : each.replacements)
    text = std::regex_replace(text, std::regex(replacement.pattern), replacement.text);
  return text;
}

// "/usr/bin/ls: x" and "/bin/ls: x" are "ls: x": where a program lies is not what it says.
std::string without_folders(const std::string& text) {
  static const std::regex folder(R"((^|\n)(/usr/local|/usr)?/bin/([\w.+-]+: ))");
  return std::regex_replace(text, folder, "$1$3");
}

}  // namespace

std::map<Part, Compared> compared_parts(const Case& each, const Outcome& native,
                                        const Outcome& ours) {
  const auto out = [&](const Outcome& side) {
    const std::string text = replaced(each, side.out);
    return each.sorted_out ? sorted_lines(text) : text;
  };
  const auto err = [&](const Outcome& side) {
    const std::string text = replaced(each, without_folders(side.err));
    return each.sorted_err ? sorted_lines(text) : text;
  };
  const auto status = [](const Outcome& side) {
    return side.timed_out ? std::string("did not end in time\n") : fmt::format("{}\n", side.status);
  };
  std::map<Part, Compared> parts{
      {Part::out, {.native = out(native), .ours = out(ours)}},
      {Part::err, {.native = err(native), .ours = err(ours)}},
      {Part::status, {.native = status(native), .ours = status(ours)}},
      {Part::files, {.native = native.files, .ours = ours.files}},
  };
  for (const auto& [part, reason] : each.ignored) parts.erase(part);
  return parts;
}

std::string diff_text(const std::string& native, const std::string& ours) {
  std::vector<std::string> left = lines_of(native);
  std::vector<std::string> right = lines_of(ours);
  // What is equal at both ends needs no table; three lines of it are shown.
  std::size_t head = 0;
  while (head < left.size() && head < right.size() && left[head] == right[head]) ++head;
  while (left.size() > head && right.size() > head && left.back() == right.back()) {
    left.pop_back();
    right.pop_back();
  }
  const std::size_t rows = std::min(left.size() - head, most_table_lines);
  const std::size_t columns = std::min(right.size() - head, most_table_lines);
  std::vector<std::vector<unsigned>> common(rows + 1, std::vector<unsigned>(columns + 1));
  for (std::size_t i = rows; i-- > 0;) {
    for (std::size_t j = columns; j-- > 0;) {
      common[i][j] = left[head + i] == right[head + j]
                         ? common[i + 1][j + 1] + 1
                         : std::max(common[i + 1][j], common[i][j + 1]);
    }
  }
  std::string text;
  std::size_t shown = 0;
  const auto show = [&](char sign, const std::string& line) {
    if (++shown <= most_diff_lines) text += fmt::format("    {}{}\n", sign, visible(line));
  };
  for (std::size_t i = head - std::min<std::size_t>(head, 3); i < head; ++i) show(' ', left[i]);
  for (std::size_t i = 0, j = 0; i < rows || j < columns;) {
    if (i < rows && j < columns && left[head + i] == right[head + j]) {
      show(' ', left[head + i]);
      ++i;
      ++j;
    } else if (j == columns || (i < rows && common[i + 1][j] >= common[i][j + 1])) {
      show('-', left[head + i++]);
    } else {
      show('+', right[head + j++]);
    }
  }
  if (shown > most_diff_lines)
    text += fmt::format("    ... {} more lines\n", shown - most_diff_lines);
  return text;
}

}  // namespace cloche::differential
