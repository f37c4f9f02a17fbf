# SPDX-License-Identifier: Apache-2.0
# The kernel of a bash context: runs cells in one shell. A request is four lines: the mark, and as bash quotes them what is to be done
# before the cell, the cell, and what is to be done after it. Records are those of python.py.
exec {__cell_requests}<&0 {__cell_out}>&1 {__cell_err}>&2 </dev/null
trap : INT
__cell_read() {
  IFS= read -r -u "$__cell_requests" "$1" && eval "$1=${!1}"
}
while IFS= read -r -u "$__cell_requests" __cell_mark && __cell_read __cell_before && __cell_read __cell_code && __cell_read __cell_after; do
  eval "$__cell_before"
  eval "$__cell_code"
  __cell_status=$?
  eval "$__cell_after"
  if [ "$__cell_status" -ne 0 ]; then
    printf '\x1e%s{"type":"error","name":"","value":"%d","traceback":""}\n' "$__cell_mark" "$__cell_status" >&"$__cell_out"
  fi
  printf '\x1e%s{"type":"end"}\n' "$__cell_mark" >&"$__cell_out"
  printf '\x1e%s{"type":"end"}\n' "$__cell_mark" >&"$__cell_err"
done
