// SPDX-License-Identifier: Apache-2.0
#include "side.h"

#include <fmt/format.h>

namespace cloche::differential {

std::map<std::string, std::string> common_environment() {
  return {{"HOME", home},         {"HOSTNAME", "cloche"}, {"LANG", "C.UTF-8"},
          {"LOGNAME", "sandbox"}, {"SHELL", "/bin/bash"}, {"TERM", "dumb"},
          {"TZ", "UTC"},          {"USER", "sandbox"},    {"PATH", "/usr/local/bin:/usr/bin:/bin"}};
}

std::string list_text(const std::map<std::string, Entry>& entries) {
  std::string list;
  for (const auto& [path, entry] : entries) {
    switch (entry.kind) {
      case Entry::Kind::file:
        list += fmt::format("file {:03o} {}\n", entry.mode, path);
        if (entry.text.empty()) break;
        list += "  | ";
        for (std::size_t i = 0; i < entry.text.size(); ++i) {
          list += entry.text[i];
          if (entry.text[i] == '\n' && i + 1 < entry.text.size()) list += "  | ";
        }
        if (!entry.text.ends_with('\n')) list += "\n  (no newline at the end)\n";
        break;
      case Entry::Kind::directory:
        list += fmt::format("directory {:03o} {}\n", entry.mode, path);
        break;
      case Entry::Kind::link: list += fmt::format("link {} -> {}\n", path, entry.text); break;
      case Entry::Kind::other: list += fmt::format("special {:03o} {}\n", entry.mode, path); break;
    }
  }
  return list;
}

Command command_of(const Case& each) {
  Command command;
  command.input = each.input;
  command.given = each.given;
  for (const std::string& word : each.run) {
    if (word == "SCRIPT") {
      command.argv.push_back(each.script);
    } else if (word == "FILE") {
      command.given.push_back({.path = "script", .content = each.script, .mode = 0755});
      command.argv.emplace_back("./script");
    } else if (word == "STDIN") {
      command.input = each.script;
    } else {
      command.argv.push_back(word);
    }
  }
  return command;
}

}  // namespace cloche::differential
