# SPDX-License-Identifier: Apache-2.0
# The kernel of a bash context: runs cells in one shell. A request is four lines: the mark, and as bash quotes them what is to be done
# before the cell, the cell, and what is to be done after it. Records are those of python.py.
exec {__cell_requests}<&0 {__cell_out}>&1 {__cell_err}>&2 </dev/null
trap : INT
__cell_read() {
  IFS= read -r -u "$__cell_requests" "$1" && eval "$1=${!1}"
}
# Of the cell before, where there was one. It stands in the loop's head, so that `continue` in a cell comes by.
__cell_end() {
  [ -n "${__cell_mark-}" ] || return 0
  eval "$__cell_after"
  if [ "$__cell_status" -ne 0 ]; then
    printf '\x1e%s{"type":"error","name":"","value":"%d","traceback":""}\n' "$__cell_mark" "$__cell_status" >&"$__cell_out"
  fi
  printf '\x1e%s{"type":"end"}\n' "$__cell_mark" >&"$__cell_out"
  printf '\x1e%s{"type":"end"}\n' "$__cell_mark" >&"$__cell_err"
}
# A `break` in a cell ends the inner loop, `break 2` and more both: then they begin anew.
__cell_loop='
while :; do
  while __cell_end
    __cell_status=0
    IFS= read -r -u "$__cell_requests" __cell_mark && __cell_read __cell_before && __cell_read __cell_code && __cell_read __cell_after || exit 0
  do
    eval "$__cell_before"
    eval "$__cell_code"
    __cell_status=$?
  done
done
eval "$__cell_loop"'
eval "$__cell_loop"
