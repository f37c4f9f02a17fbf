// SPDX-License-Identifier: Apache-2.0
#include "sandbox/shell_text.h"

#include "base/base64.h"

namespace cloche::sandbox {

// Options come before functions, whose text may need them (extglob), and aliases after them, as
// those must not change that text. errexit and the like come last: until then lines may fail. A
// command substitution has neither errexit nor verbose, which $- tells of.
const char* const write_shell_text =
    R"sh(__cloche_flags=$- __cloche_traps=$(trap -p) __cloche_options=$(set +o) __cloche_shopt=$(shopt -p)
__cloche_args=("$@")
set +efuxv
trap - DEBUG ERR RETURN EXIT
shopt -u expand_aliases
__cloche_ifs=$(declare -p IFS 2>/dev/null || printf 'unset IFS')
IFS=$' \t\n'
printf '%s\n' "$__cloche_shopt"
declare -f
declare -Fx
declare -Fr
for __cloche_name in $(compgen -v); do
  case $__cloche_name in
    __cloche_*|BASHOPTS|BASHPID|BASH_A*|BASH_CMDS|BASH_COMMAND|BASH_EXECUTION_STRING|BASH_LINENO|BASH_MONOSECONDS|\
    BASH_SOURCE|BASH_SUBSHELL|BASH_TRAPSIG|BASH_VERSINFO|BASH_VERSION|BASH|COMP_*|DIRSTACK|EPOCH*|EUID|FUNCNAME|\
    GROUPS|HISTCMD|IFS|LINENO|PIPESTATUS|PPID|RANDOM|SRANDOM|SECONDS|SHELLOPTS|SHLVL|UID|_) ;;
    *) declare -p -- "$__cloche_name" ;;
  esac
done 2>/dev/null
printf '%s\n' "$__cloche_ifs"
alias -p
while IFS= read -r __cloche_line; do
  [[ $__cloche_line =~ -([a-z])\)[[:space:]]+([^[:space:]]+)$ && ${BASH_REMATCH[1]} != p ]] &&
    printf 'ulimit -S -%s %s\n' "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"
done <<<"$(ulimit -Sa 2>/dev/null)"
while IFS= read -r __cloche_line; do
  [[ $__cloche_line =~ -([a-z])\)[[:space:]]+([^[:space:]]+)$ && ${BASH_REMATCH[1]} != p ]] &&
    printf 'ulimit -H -%s %s\n' "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"
done <<<"$(ulimit -Ha 2>/dev/null)"
printf 'umask %s\ncd -- %q\nset --' "$(umask)" "$PWD"
((${#__cloche_args[@]})) && printf ' %q' "${__cloche_args[@]}"
printf '\n%s\n' "$__cloche_options"
[[ $__cloche_flags == *v* ]] && printf 'set -o verbose\n'
[[ $__cloche_flags == *e* ]] && printf 'set -o errexit\n'
printf '%s\n' "$__cloche_traps"
printf '# end\n'
)sh";

Json to_json(const ShellText& text) {
  return {{"environment", text.environment}, {"script", to_base64(text.script)}};
}

std::optional<ShellText> shell_text_of(const Json& json) try {
  ShellText text;
  text.environment = json.at("environment");
  std::optional<std::string> script = from_base64(json.at("script").get_ref<const std::string&>());
  if (!script || script->size() > shell_text_max_bytes || script->find('\0') != std::string::npos ||
      !script->ends_with(shell_text_end))
    return std::nullopt;
  text.script = *std::move(script);
  return text;
} catch (const Json::exception&) {
  return std::nullopt;
}

}  // namespace cloche::sandbox
