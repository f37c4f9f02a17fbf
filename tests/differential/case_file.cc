// SPDX-License-Identifier: Apache-2.0
#include "case_file.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>

namespace cloche::differential {
namespace {

struct PartName {
  Part part;
  const char* name;
};
constexpr std::array<PartName, 4> part_names{{{Part::out, "stdout"},
                                              {Part::err, "stderr"},
                                              {Part::status, "status"},
                                              {Part::files, "files"}}};

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// The first word, and what follows it.
std::pair<std::string, std::string> split_word(const std::string& text) {
  const std::size_t space = text.find(' ');
  if (space == std::string::npos) return {text, ""};
  const std::size_t rest = text.find_first_not_of(' ', space);
  return {text.substr(0, space), rest == std::string::npos ? "" : text.substr(rest)};
}

std::optional<std::uint32_t> number_of(std::string_view text, int base) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string text_of(const std::filesystem::path& file, const Section& section, bool escaped) {
  if (!escaped) return section.text;
  try {
    return unescape(section.text);
  } catch (const std::runtime_error& error) {
    fail_at(file, section.line, error.what());
  }
}

// One case, filled line by line.
class Builder {
 public:
  explicit Builder(Case& made) : made_(made) {}

  void directive(int line, const std::string& text) {
    const auto [word, rest] = split_word(text);
    if (word == "needs") {
      need(line, rest);
    } else if (word == "native") {
      const std::vector<std::string> words = words_of(rest);
      if (words.size() != 2) fail_at(made_.file, line, "@native NAME MACHINES_NAME");
      made_.native_commands[words[0]] = words[1];
      made_.needs.push_back({.command = words[1], .at_least = "", .prefix = ""});
    } else if (word == "run") {
      made_.run = words_of(rest);
      if (made_.run.empty()) fail_at(made_.file, line, "@run WORD...");
    } else if (word == "env") {
      const std::size_t equals = rest.find('=');
      if (equals == std::string::npos) fail_at(made_.file, line, "@env NAME=VALUE");
      made_.environment[rest.substr(0, equals)] = rest.substr(equals + 1);
    } else if (word == "drop") {
      if (rest.empty()) fail_at(made_.file, line, "@drop TEXT");
      made_.dropped.push_back(rest);
    } else if (word == "replace") {
      replacement(line, rest);
    } else if (word == "ignore") {
      const auto [name, reason] = split_word(rest);
      const std::optional<Part> part = part_of(name);
      if (!part || reason.empty())
        fail_at(made_.file, line, "@ignore stdout|stderr|status|files REASON");
      made_.ignored[*part] = reason;
    } else if (word == "sort" && rest == "stdout") {
      made_.sorted_out = true;
    } else if (word == "sort" && rest == "stderr") {
      made_.sorted_err = true;
    } else if (word == "timeout") {
      const auto seconds = number_of(rest, 10);
      if (!seconds) fail_at(made_.file, line, "@timeout SECONDS");
      made_.timeout = std::chrono::seconds(*seconds);
    } else {
      fail_at(made_.file, line, fmt::format("@{} is no directive", text));
    }
  }

  void section(const Section& section) {
    std::vector<std::string> words = words_of(section.name);
    const bool escaped = words.size() > 1 && words.back() == "escaped";
    if (escaped) words.pop_back();
    if (words.empty()) {
      made_.script = section.text;
    } else if (words.size() == 1 && words[0] == "stdin") {
      made_.input = text_of(made_.file, section, escaped);
    } else if ((words.size() == 2 || words.size() == 3) && words[0] == "file") {
      GivenFile given{.path = words[1], .content = text_of(made_.file, section, escaped)};
      if (words.size() == 3) {
        const auto mode = number_of(words[2], 8);
        if (!mode) fail_at(made_.file, section.line - 1, "--- file NAME [MODE]");
        given.mode = *mode;
      }
      made_.given.push_back(std::move(given));
    } else {
      fail_at(made_.file, section.line - 1, fmt::format("no such section: {}", section.name));
    }
  }

 private:
  void need(int line, const std::string& rest) {
    const std::vector<std::string> words = words_of(rest);
    Need need;
    if (!words.empty()) need.command = words[0];
    if (words.size() == 2) {
      need.prefix = words[1];
    } else if (words.size() == 3 && words[1] == ">=") {
      need.at_least = words[2];
    } else if (words.size() != 1) {
      fail_at(made_.file, line, "@needs COMMAND, @needs COMMAND 5.2 or @needs COMMAND >= 5.2");
    }
    made_.needs.push_back(std::move(need));
  }

  void replacement(int line, std::string rest) {
    if (rest.ends_with(" =>")) rest += ' ';  // by nothing: a line's end has no blanks
    const std::size_t arrow = rest.find(" => ");
    if (arrow == std::string::npos) fail_at(made_.file, line, "@replace REGEX => TEXT");
    Replacement replacement{.pattern = rest.substr(0, arrow), .text = rest.substr(arrow + 4)};
    try {
      const std::regex tried(replacement.pattern);
    } catch (const std::regex_error& error) {
      fail_at(made_.file, line, error.what());
    }
    made_.replacements.push_back(std::move(replacement));
  }

  Case& made_;
};

}  // namespace

std::optional<Part> part_of(std::string_view word) {
  for (const PartName& each : part_names)
    if (word == each.name) return each.part;
  return std::nullopt;
}

const char* name_of(Part part) {
  for (const PartName& each : part_names)
    if (part == each.part) return each.name;
  return "";
}

std::vector<GivenFile> read_folder(const std::filesystem::path& folder) {
  std::vector<GivenFile> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    files.push_back({.path = entry.path().lexically_relative(folder).string(),
                     .content = std::string(std::istreambuf_iterator<char>(in),
                                            std::istreambuf_iterator<char>()),
                     .mode = static_cast<std::uint32_t>(entry.status().permissions()) & 0777U});
  }
  return files;
}

std::vector<Case> read_cases(const std::filesystem::path& file) {
  const BlockFile blocks = read_blocks(file);
  std::vector<Case> cases;
  std::set<std::string> names;
  for (const Block& block : blocks.blocks) {
    if (!names.insert(block.name).second)
      fail_at(file, block.line, fmt::format("a second case is called {}", block.name));
    Case& made = cases.emplace_back();
    made.name = block.name;
    made.file = file;
    made.line = block.line;
    Builder builder(made);
    for (const auto& [line, text] : blocks.directives) builder.directive(line, text);
    for (const auto& [line, text] : block.directives) builder.directive(line, text);
    for (const Section& section : block.sections) builder.section(section);
    if (made.script.empty()) fail_at(file, block.line, "a case without a script");
  }
  if (cases.empty()) fail_at(file, 1, "has no case");
  return cases;
}

std::vector<Intended> read_intended(const std::filesystem::path& file) {
  std::vector<Intended> result;
  for (const Block& block : read_blocks(file).blocks) {
    Intended& made = result.emplace_back();
    made.line = block.line;
    const std::size_t colon = block.name.find(": ");
    if (colon == std::string::npos) fail_at(file, block.line, "=== FOLDER/FILE: CASE");
    made.case_file = block.name.substr(0, colon);
    made.case_name = block.name.substr(colon + 2);
    made.reason = block.sections.front().text;
    if (made.reason.find_first_not_of(" \n") == std::string::npos)
      fail_at(file, block.line, "a difference wants its reason");
    for (std::size_t i = 1; i < block.sections.size(); ++i) {
      const Section& section = block.sections[i];
      const auto [word, rest] = split_word(section.name);
      const std::optional<Part> part = part_of(word);
      if (!part || (!rest.empty() && rest != "escaped"))
        fail_at(file, section.line - 1, "--- stdout|stderr|status|files [escaped]");
      made.parts[*part] = text_of(file, section, rest == "escaped");
    }
    if (made.parts.empty()) fail_at(file, block.line, "says nothing of what ours gives");
  }
  return result;
}

}  // namespace cloche::differential
