// SPDX-License-Identifier: Apache-2.0
#include "sandbox/shell_words.h"

#include <algorithm>
#include <array>

namespace cloche::sandbox {

bool is_shell_word(std::string_view word) {
  // What `compgen -bk` of bash lists, sorted; those that are names of commands.
  static constexpr auto words = std::to_array<std::string_view>(
      {"alias",   "bg",       "bind",     "break",     "builtin",  "caller",  "case",    "cd",
       "command", "compgen",  "complete", "compopt",   "continue", "coproc",  "declare", "dirs",
       "disown",  "do",       "done",     "echo",      "elif",     "else",    "enable",  "esac",
       "eval",    "exec",     "exit",     "export",    "false",    "fc",      "fg",      "fi",
       "for",     "function", "getopts",  "hash",      "help",     "history", "if",      "in",
       "jobs",    "kill",     "let",      "local",     "logout",   "mapfile", "popd",    "printf",
       "pushd",   "pwd",      "read",     "readarray", "readonly", "return",  "select",  "set",
       "shift",   "shopt",    "source",   "suspend",   "test",     "then",    "time",    "times",
       "trap",    "true",     "type",     "typeset",   "ulimit",   "umask",   "unalias", "unset",
       "until",   "wait",     "while"});
  static_assert(std::ranges::is_sorted(words));
  return std::ranges::binary_search(words, word);
}

}  // namespace cloche::sandbox
