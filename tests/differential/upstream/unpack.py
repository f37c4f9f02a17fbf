#!/usr/bin/env python3
"""Unpacks the tests of bash's own source archive, the one that the port is built from.

    unpack.py OUT

OUT/tests has them, OUT/bin the small programs that they call: those of the archive are in C, these print the
same. Nothing is fetched where the archive is in the cache, as it is after a build of the userland.
"""
import pathlib
import shutil
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "userland" / "build"))

import ports  # noqa: E402
import sources  # noqa: E402

# The scripts ask for a locale that few machines have; this one they all have, and it is the sandbox's.
COMMON_LOCALE = (b"en_US.UTF-8", b"C.UTF-8")

PROGRAMS = {
    # The arguments, one a line, control characters made visible.
    "recho": r"""#!/bin/bash
LC_ALL=C
n=0
for word; do
  shown=
  for ((i = 0; i < ${#word}; i++)); do
    c=${word:i:1}
    printf -v code %d "'$c"
    if ((code >= 0 && code < 32)); then
      printf -v c '^\\x%x' $((code + 64)); printf -v c %b "$c"
    elif ((code == 127)); then
      c='^?'
    fi
    shown+=$c
  done
  printf 'argv[%d] = <%s>\n' $((++n)) "$shown"
done
exit 0
""",
    # The arguments as they are, with blanks between them.
    "zecho": r"""#!/bin/bash
IFS=' '
printf '%s\n' "$*"
""",
    # Variables of the environment, by their values.
    "printenv": r"""#!/bin/bash
(($#)) || exec env
for name; do
  [[ $(declare -p "$name" 2>/dev/null) == 'declare -x'* ]] || exit 1
  printf '%s\n' "${!name}"
done
""",
    # Half as long: the scripts look at which of their sleeps ends first, and do little else for minutes.
    "sleep": r"""#!/bin/bash
case $1 in
*[!0-9]* | '') exec /usr/bin/sleep "$@" ;;
*) exec /usr/bin/sleep $(($1 / 2)).$(($1 % 2 * 5)) ;;
esac
""",
    # Standard input in upper (-u) or lower (-l) case.
    "xcase": r"""#!/bin/bash
while getopts lnu option; do way=${option/n/$way}; done
shift $((OPTIND - 1))
while IFS= read -r line; do
  case $way in u) printf '%s\n' "${line^^}" ;; l) printf '%s\n' "${line,,}" ;; *) printf '%s\n' "$line" ;; esac
done < "${1:-/dev/stdin}"
""",
}


def main():
    out = pathlib.Path(sys.argv[1])
    [port] = [p for p in ports.load_all() if p.name == "bash"]
    archive = sources.fetch(port.source)
    shutil.rmtree(out, ignore_errors=True)
    (out / "bin").mkdir(parents=True)
    with tempfile.TemporaryDirectory() as scratch:
        tree = pathlib.Path(scratch) / "bash"
        sources.unpack(archive, tree)
        shutil.move(tree / "tests", out / "tests")
    for script in (p for p in (out / "tests").rglob("*") if p.is_file()):
        script.write_bytes(script.read_bytes().replace(*COMMON_LOCALE))
    for name, text in PROGRAMS.items():
        program = out / "bin" / name
        program.write_text(text)
        program.chmod(0o755)


if __name__ == "__main__":
    main()
