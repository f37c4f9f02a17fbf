# For interactive shells: a prompt that says where one is, in colour where the terminal has it.
[ -n "${PS1-}" ] || return
case "${TERM-}" in
dumb | '') PS1='\u@\h:\w\$ ' ;;
*) PS1='\[\e[32m\]\u@\h\[\e[0m\]:\[\e[34m\]\w\[\e[0m\]\$ ' ;;
esac
HISTSIZE=1000
shopt -s checkwinsize
alias ls='ls --color=auto' ll='ls -l'
