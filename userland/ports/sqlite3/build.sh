# The shell, over the library that node has too.
sqlite=$LIBRARIES/sqlite
# shellcheck disable=SC2046  # options are words
$CC -O2 -Wno-everything -I"$sqlite/include" $(cat "$sqlite/share/options") -o "$OUT/usr/bin/sqlite3" "$sqlite/share/shell.c" "$sqlite/lib/libsqlite3.a"
$STRIP "$OUT/usr/bin/sqlite3"
