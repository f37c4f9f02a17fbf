# SPDX-License-Identifier: Apache-2.0
"""Completion for bash and zsh, from the help pages."""
from __future__ import annotations

from help_pages import Command, Option


def bash(commands: list[Command]) -> str:
    names = " ".join(c.name for c in commands if c.name)
    cases, values = [], {}
    for command in commands[1:]:
        words = " ".join([*(o.name for o in command.options), *command.actions])
        cases.append(f"    {command.name}) words='{words}' ;;")
        for option in command.options:
            values.setdefault(option.name, option)
    answers = []
    for option in values.values():
        if option.choices():
            answers.append(f"    {option.name}) COMPREPLY=($(compgen -W '{' '.join(option.choices())}' -- \"$current\")); return ;;")
        elif option.wants_folder():
            answers.append(f"    {option.name}) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- \"$current\"); return ;;")
        elif option.wants_file():
            answers.append(f"    {option.name}) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- \"$current\"); return ;;")
        elif option.value:
            answers.append(f"    {option.name}) return ;;")
    return f"""# bash completion of cloche; made from its help pages.
_cloche() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}} words=
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W '{names} --help --version' -- "$current")
    return
  fi
  case $previous in
{chr(10).join(answers)}
  esac
  case ${{COMP_WORDS[1]}} in
    help) words='{names}' ;;
{chr(10).join(case for case in cases if not case.startswith("    help)"))}
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  if [ "${{#COMPREPLY[@]}}" -eq 0 ] && [ "${{current#-}}" = "$current" ]; then
    compopt -o filenames
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}}
complete -F _cloche cloche
"""


def _zsh_text(text: str) -> str:
    for mark in "\\[]:":
        text = text.replace(mark, "\\" + mark)
    return text.replace("'", "'\\''")


def _zsh_option(option: Option) -> str:
    action = ""
    if option.choices():
        action = f":value:({' '.join(option.choices())})"
    elif option.wants_folder():
        action = ":folder:_files -/"
    elif option.wants_file():
        action = ":file:_files"
    elif option.value:
        action = f":{_zsh_text(option.value)}: "
    meaning = f"[{_zsh_text(option.meaning)}]" if option.meaning else ""
    repeated = "*" if "may be repeated" in option.meaning else ""
    return f"'{repeated}{option.name}{meaning}{action}'"


def zsh(commands: list[Command]) -> str:
    known = "\n".join(f"    '{c.name}:{_zsh_text(c.meaning)}'" for c in commands if c.name)
    cases = []
    for command in commands[1:]:
        rest = f"'1:action:({' '.join(command.actions)})' '*:file:_files'" if command.actions else "'*:file:_files'"
        if command.name == "help":
            rest = "'1:command:_describe command commands'"
        options = " \\\n        ".join([*(_zsh_option(o) for o in command.options), rest])
        cases.append(f"    ({command.name})\n      _arguments -S \\\n        {options}\n      ;;")
    return f"""#compdef cloche
# zsh completion of cloche; made from its help pages.
_cloche() {{
  local -a commands=(
{known}
  )
  local context state line
  _arguments -C '--help[show the general page]' '--version[show the version]' \\
    '1:command:->command' '*::argument:->argument' && return
  case $state in
    (command) _describe command commands; return ;;
  esac
  case $words[1] in
{chr(10).join(cases)}
  esac
}}
_cloche "$@"
"""
