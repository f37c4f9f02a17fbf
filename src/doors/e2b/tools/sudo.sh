#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sudo [OPTION...] [NAME=VALUE...] COMMAND: runs it as who asks.
while [ $# -gt 0 ]; do
  case $1 in
    --) shift; break ;;
    -[ughpCUDRT]) shift 2 ;;
    -*) shift ;;
    *=*) export "$1"; shift ;;
    *) break ;;
  esac
done
[ $# -gt 0 ] || exec "${SHELL:-/bin/bash}"
exec "$@"
