// SPDX-License-Identifier: Apache-2.0
// Case files: what they hold, and how they are read. README.md describes the format for writers.
//
// A Case is one script with all that both sides get. Parsing throws std::runtime_error with
// FILE:LINE and what is wrong; nothing is guessed.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cloche::differential {

// A native command that must be there: absent, or of another version, the case is skipped.
struct Need {
  std::string command;
  std::string at_least;  // a version; empty: any
  std::string prefix;    // what its version starts with; empty: any
};

// A file that both sides find in their directory.
struct GivenFile {
  std::string path;
  std::string content;
  std::uint32_t mode = 0644;
};

// On both sides' stdout and stderr, before they are compared.
struct Replacement {
  std::string pattern;  // ECMAScript
  std::string text;
};

enum class Part : std::uint8_t { out, err, status, files };
std::optional<Part> part_of(std::string_view word);
const char* name_of(Part part);

struct Case {
  std::string name;
  std::filesystem::path file;
  int line = 0;
  std::string script;
  // Words; SCRIPT stands for the text, FILE for a file that holds it, STDIN (as the last word) for
  // a standard input of it.
  std::vector<std::string> run{"bash", "-c", "SCRIPT"};
  std::string input;
  std::vector<GivenFile> given;
  std::shared_ptr<const std::vector<GivenFile>> folder;  // more of them, the same for all cases
  std::map<std::string, std::string> environment;
  std::vector<Need> needs;
  std::map<std::string, std::string> native_commands;  // name in the script -> the machine's name
  std::vector<std::string> dropped;                    // lines with one of these are left out
  std::vector<Replacement> replacements;
  std::map<Part, std::string> ignored;  // with the reason
  bool sorted_out = false;              // the order of the lines is chance
  bool sorted_err = false;
  std::chrono::seconds timeout{30};
};

// All files below a folder, by their paths in it.
std::vector<GivenFile> read_folder(const std::filesystem::path& folder);

std::vector<Case> read_cases(const std::filesystem::path& file);

// What ours gives where that is not what the native side gives, on purpose.
struct Intended {
  std::string case_file;  // "shell/jobs"
  std::string case_name;
  std::string reason;
  std::map<Part, std::string> parts;
  int line = 0;
};

std::vector<Intended> read_intended(const std::filesystem::path& file);

// Text between its `===` line and the next: the lines that open it, then sections that `--- NAME`
// lines begin.
struct Section {
  std::string name;  // empty: what stands before the first
  std::string text;
  int line = 0;
};

struct Block {
  std::string name;
  int line = 0;
  std::vector<std::pair<int, std::string>> directives;  // "@..." without the sign, with their line
  std::vector<Section> sections;
};

struct BlockFile {
  std::vector<std::pair<int, std::string>> directives;  // before the first block: for all of them
  std::vector<Block> blocks;
};

BlockFile read_blocks(const std::filesystem::path& file);

// \n \t \r \0 \\ \e \xHH; the newline at the end is not part of the text.
std::string unescape(std::string_view text);

[[noreturn]] void fail_at(const std::filesystem::path& file, int line, const std::string& what);

}  // namespace cloche::differential
