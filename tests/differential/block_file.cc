// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <fstream>
#include <stdexcept>

#include "case_file.h"

namespace cloche::differential {
namespace {

bool starts_marker(std::string_view line) {
  return line.starts_with("=== ") || line.starts_with("--- ");
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string_view trimmed_end(std::string_view text) {
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

void fail_at(const std::filesystem::path& file, int line, const std::string& what) {
  throw std::runtime_error(fmt::format("{}:{}: {}", file.string(), line, what));
}

std::string unescape(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    switch (const char c = text[++i]) {
      case 'n': out += '\n'; break;
      case 't': out += '\t'; break;
      case 'r': out += '\r'; break;
      case 'e': out += '\x1b'; break;
      case '0': out += '\0'; break;
      case '\\': out += '\\'; break;
      case 'x':
        if (i + 2 < text.size() && hex_value(text[i + 1]) >= 0 && hex_value(text[i + 2]) >= 0) {
          out += static_cast<char>(hex_value(text[i + 1]) * 16 + hex_value(text[i + 2]));
          i += 2;
          break;
        }
        [[fallthrough]];
      default: throw std::runtime_error(fmt::format("\\{} is no escape", c));
    }
  }
  return out;
}

BlockFile read_blocks(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) fail_at(file, 1, "cannot be read");
  BlockFile result;
  Block* block = nullptr;
  bool opening = true;  // directives may stand here
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.starts_with("=== ")) {
      Block& added = result.blocks.emplace_back();
      added.name = trimmed_end(std::string_view(line).substr(4));
      added.line = number;
      added.sections.push_back({.name = "", .text = "", .line = number + 1});
      block = &added;
      opening = true;
      continue;
    }
    if (block == nullptr) {
      if (line.starts_with('@')) {
        result.directives.emplace_back(number, trimmed_end(std::string_view(line).substr(1)));
      } else if (!line.empty() && !line.starts_with('#')) {
        fail_at(file, number, "stands before the first case; a comment starts with #");
      }
      continue;
    }
    if (opening && line.starts_with('@')) {
      block->directives.emplace_back(number, trimmed_end(std::string_view(line).substr(1)));
      continue;
    }
    opening = false;
    if (line.starts_with("--- ")) {
      block->sections.push_back({.name = std::string(trimmed_end(std::string_view(line).substr(4))),
                                 .text = "",
                                 .line = number + 1});
      continue;
    }
    if (line.starts_with('\\') && starts_marker(std::string_view(line).substr(1))) line.erase(0, 1);
    block->sections.back().text += line + "\n";
  }
  // The empty line before the next block is for the reader.
  for (Block& each : result.blocks) {
    std::string& text = each.sections.back().text;
    if (&each != &result.blocks.back() && (text == "\n" || text.ends_with("\n\n"))) text.pop_back();
  }
  return result;
}

}  // namespace cloche::differential
