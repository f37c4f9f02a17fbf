// SPDX-License-Identifier: Apache-2.0
// The two sides of a case, and what each gives. Both run `bash` (or what @run says) in an empty
// directory of their own, with the environment of common_environment() and nothing else, umask 022,
// no terminal, a pipe for each of the standard descriptors.
//
// Neither throws for what a script does; native_outcome throws std::runtime_error when the machine
// gives it no directory or process.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "case_file.h"
#include "cloche/engine.h"

namespace cloche::differential {

struct Outcome {
  bool timed_out = false;
  std::string out;
  std::string err;
  int status = 0;
  std::string files;  // what list_text makes of the directory
};

// One thing in the directory after the script.
struct Entry {
  enum class Kind : std::uint8_t { file, directory, link, other };
  Kind kind = Kind::other;
  std::uint32_t mode = 0;
  std::string text;  // content, or a link's target
};

// By path: "file 644 NAME: CONTENT" and so on, a line each for a listing that a diff can show.
std::string list_text(const std::map<std::string, Entry>& entries);

// The sandbox's home, which stands for both sides' directory in what they print.
inline constexpr const char* home = "/workspace";

std::map<std::string, std::string> common_environment();

// The words of @run with SCRIPT put in. STDIN and FILE are resolved: `input` and `given` get them.
struct Command {
  std::vector<std::string> argv;
  std::string input;
  std::vector<GivenFile> given;
};
Command command_of(const Case& each);

// Once, before any thread and before the Engine: the native sides have no network where the system
// lets us take it away.
void leave_network();

// Thread-safe. In a fresh directory below `scratch`, as an ordinary user where this process is
// root; killed with all its children when it ends or its time is over.
Outcome native_outcome(const Case& each, const std::filesystem::path& scratch);

// Thread-safe. In a fresh sandbox.
Outcome sandbox_outcome(const Case& each, Engine& engine);

// Why the machine cannot give the native side of a case; empty: it can. Thread-safe.
std::string missing_need(const Case& each);

}  // namespace cloche::differential
