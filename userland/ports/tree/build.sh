make tree CC="$CC" CFLAGS="-O2 -D_GNU_SOURCE -D_LARGEFILE64_SOURCE -Wno-everything" LDFLAGS=
install -m 755 tree "$OUT/usr/bin/tree"
$STRIP "$OUT/usr/bin/tree"
