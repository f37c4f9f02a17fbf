// SPDX-License-Identifier: Apache-2.0
#include "sandbox/native/text_shell.h"

#include <fmt/format.h>

#include <algorithm>

#include "sandbox/native/native_backend.h"

namespace cloche::sandbox {
namespace {

// $1 is the script, the rest its arguments. Descriptor 3 is the state to begin with, 4 takes the one
// at the end: after the script, or when it calls exit. A script that becomes another program writes
// none. What bash sets itself is left out, and names of this script's own.
constexpr const char* shell_driver = R"sh(
__cloche_initial=$(set +o)
__cloche_set=
__cloche_save() {
  local __cloche_name
  for __cloche_name in $(compgen -v); do
    case $__cloche_name in
      __cloche_*|BASHOPTS|BASHPID|BASH_A*|BASH_CMDS|BASH_COMMAND|BASH_EXECUTION_STRING|BASH_LINENO|\
      BASH_SOURCE|BASH_SUBSHELL|BASH_VERSINFO|BASH_VERSION|BASH|COMP_*|DIRSTACK|EPOCH*|EUID|FUNCNAME|\
      GROUPS|HISTCMD|LINENO|PIPESTATUS|PPID|RANDOM|SRANDOM|SECONDS|SHELLOPTS|SHLVL|UID|_) ;;
      *) case $__cloche_only in *" $__cloche_name "*) ;; *) declare -p -- "$__cloche_name" ;; esac ;;
    esac
  done
  printf '%s\n' "$__cloche_before"
  unset -f __cloche_save
  declare -f
  declare -Fx
  alias -p
  trap -p | while IFS= read -r __cloche_line; do
    case $__cloche_line in *__cloche_save*) ;; *) printf '%s\n' "$__cloche_line" ;; esac
  done
  case $(trap -p EXIT) in *__cloche_save*) printf '%s\n' "$__cloche_exit_trap" ;; esac
  printf 'umask %s\ncd -- %q\n' "$(umask)" "$PWD"
  shopt -p
  [ "$__cloche_options" = "$__cloche_initial" ] || printf '__cloche_set=%q\n' "$__cloche_options"
}
shopt -s expand_aliases
. /proc/self/fd/3 3<&3 2>/dev/null
exec 3<&-
__cloche_exit_trap=$(trap -p EXIT)
__cloche_script=$1
shift
trap '__cloche_status=$?; { __cloche_options=$(set +o); set +eux; __cloche_save >&4; exec 4>&-; } 2>/dev/null; exit $__cloche_status' EXIT
eval -- "${__cloche_set:+$__cloche_set
}$__cloche_script"
{ __cloche_status=$?; __cloche_options=$(set +o); set +eux; __cloche_save >&4; exec 4>&-; trap - EXIT; } 2>/dev/null
exit $__cloche_status
)sh";

std::string shell_word(std::string_view text) {
  std::string word = "'";
  for (const char c : text) {
    if (c == '\'') {
      word += "'\\''";
    } else {
      word += c;
    }
  }
  return word + "'";
}

bool is_name(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !text.empty() && (text[0] < '0' || text[0] > '9') && std::ranges::all_of(text, fits);
}

}  // namespace

// The state, then what was set from outside, then what is of this run alone.
std::string TextShell::preamble(const RunOptions& options) {
  std::string text = state_ + "\n";
  {
    const MutexLock lock(set_mutex_);
    for (const auto& [name, value] : set_) {
      if (is_name(name)) text += fmt::format("export {}={}\n", name, shell_word(value));
    }
  }
  std::string only = " ", exports;
  for (const auto& [name, value] : options.environment) {
    if (!is_name(name)) continue;
    only += name + " ";
    exports += fmt::format("export {}={}\n", name, shell_word(value));
  }
  text += fmt::format("__cloche_only={}\n__cloche_before=$(declare -p {} 2>/dev/null)\n{}",
                      shell_word(only), only == " " ? "__cloche_none" : only, exports);
  if (!options.cwd.empty())
    text += fmt::format("cd -- {}\n", shell_word(sandbox_.folder_of(options)));
  return text;
}

RunResult TextShell::run(const RunOptions& options) {
  const MutexLock lock(mutex_);
  RunOptions command = options;
  command.environment.clear();  // the preamble has it, for this run alone
  command.argv = {"bash", "-c", shell_driver,
                  options.arguments.empty() ? "bash" : options.arguments.front(), options.script};
  if (!options.arguments.empty())
    command.argv.insert(command.argv.end(), options.arguments.begin() + 1, options.arguments.end());
  std::map<std::string, std::string> told;
  {
    const MutexLock set_lock(set_mutex_);
    told = set_;
  }
  std::optional<std::string> left;
  RunResult result = sandbox_.run_command(command, preamble(options), &left);
  const bool ended = result.status == RunStatus::exited;
  if (!ended || (left && left->empty())) return result;
  if (!left) {
    result.reason = "the shell's state is too large to be kept: it is as it was before this run";
    return result;
  }
  state_ = *std::move(left);
  const MutexLock set_lock(set_mutex_);
  std::erase_if(set_, [&](const auto& entry) {
    const auto it = told.find(entry.first);
    return it != told.end() && it->second == entry.second;
  });
  return result;
}

void TextShell::restart() {
  const MutexLock lock(mutex_);
  state_.clear();
}

void TextShell::set_variable(const std::string& name, const std::string& value) {
  const MutexLock lock(set_mutex_);
  set_[name] = value;
}

TextShell::Passed TextShell::pass_on() {
  const MutexLock lock(mutex_);
  const MutexLock set_lock(set_mutex_);
  return {state_, set_};
}

void TextShell::go_on_as(Passed passed) {
  const MutexLock lock(mutex_);
  const MutexLock set_lock(set_mutex_);
  state_ = std::move(passed.state);
  set_ = std::move(passed.set);
}

}  // namespace cloche::sandbox
