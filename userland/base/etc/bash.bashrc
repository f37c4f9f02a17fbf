# For interactive shells: a prompt that says where one is, in colour where the terminal has it.
[ -n "${PS1-}" ] || return
case "${TERM-}" in
dumb | '') PS1='\u@\h:\w\$ ' ;;
*) PS1='\[\e[32m\]\u@\h\[\e[0m\]:\[\e[34m\]\w\[\e[0m\]\$ ' ;;
esac
HISTSIZE=1000
shopt -s checkwinsize
alias ls='ls --color=auto' ll='ls -l'

# Flags of commands that the host serves, by what their --help says; one that says nothing is not asked.
_host_command() {
	/usr/lib/cloche/host-command | grep -q "^$1	." || return
	local flags
	flags=$({ echo --help; "$1" --help </dev/null; } | grep -oE -- '--[A-Za-z0-9][A-Za-z0-9_-]*' | sort -u)
	COMPREPLY=($(compgen -W "$flags" -- "$2"))
}
_find_completion() {
	local path line=
	path=$(type -P -- "$1") && read -r line 2>/dev/null <"$path"
	[[ $line == '#!/usr/lib/cloche/host-command '* ]] || return 1
	complete -o bashdefault -o default -F _host_command -- "$1" && return 124
}
complete -D -o bashdefault -o default -F _find_completion
