#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# ss [-Hlatun] [sport = :PORT]: sockets of this computer's loopback, as /proc/net has them.
header=1 which=open files= port=
while [ $# -gt 0 ]; do
  case $1 in
    sport) [ "$2" = = ] || [ "$2" = eq ] || exit 255; port=${3#*:}; shift 2 ;;
    -*) case $1 in *H*) header=0 ;; esac
        case $1 in *l*) which=listening ;; *a*) which=all ;; esac
        case $1 in *t*) files="$files tcp tcp6" ;; esac
        case $1 in *u*) files="$files udp udp6" ;; esac ;;
    *) echo "ss: knows options and sport = :PORT, not '$1'" >&2; exit 255 ;;
  esac
  shift
done
cd /proc/net && exec awk -v header=$header -v which=$which -v port="$port" '
  function number(digits,   i, value) {
    for (i = 1; i <= length(digits); i++)
      value = value * 16 + index("0123456789ABCDEF", substr(digits, i, 1)) - 1
    return value + 0
  }
  function address(text,   at, i, bytes, ip) {
    at = index(text, ":")
    for (i = 7; i > 0; i -= 2) bytes = bytes (bytes == "" ? "" : ".") number(substr(text, i, 2))
    if (at == 9) ip = bytes
    else ip = text ~ /^0+:/ ? "*" : "[::1]"
    i = number(substr(text, at + 1))
    return ip ":" (i ? i : "*")
  }
  BEGIN {
    if (header) printf "%-5s %-9s %-6s %-6s %21s %21s\n", "Netid", "State", "Recv-Q", "Send-Q", "Local Address:Port", "Peer Address:Port"
  }
  FNR > 1 {
    listens = $4 == "0A" || (FILENAME ~ /udp/ && $4 == "07")
    if (which == "listening" && !listens || which == "open" && $4 != "01") next
    if (port != "" && number(substr($2, index($2, ":") + 1)) != port) next
    state = $4 == "0A" ? "LISTEN" : $4 == "01" ? "ESTAB" : "UNCONN"
    printf "%-5s %-9s %-6d %-6d %21s %21s\n", substr(FILENAME, 1, 3), state, number(substr($5, 10)), 0, address($2), address($3)
  }' ${files:-tcp tcp6 udp udp6}
