# Interactive bash.
[ -z "${PS1:-}" ] && return
PS1='\u@\h:\w\$ '
shopt -s checkwinsize histappend
HISTCONTROL=ignoreboth
alias ls='ls --color=auto' ll='ls -l' la='ls -A'
