# One file of vim's source.
$CC -O2 -Wno-everything -DUNIX -o "$OUT/usr/bin/xxd" src/xxd/xxd.c
$STRIP "$OUT/usr/bin/xxd"
