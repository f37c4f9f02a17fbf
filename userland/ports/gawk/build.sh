# GNU awk, without MPFR (-M) and without loadable extensions.
export CFLAGS="-O2 -Wno-everything -Dfork=vfork"
./configure --host="$HOST" --prefix=/usr --disable-nls --disable-extensions --disable-mpfr --disable-pma --without-readline \
  --disable-dependency-tracking
make -C support -j"$JOBS"
$CC -O2 -c "$PORT/strtod.c"
make -j"$JOBS" gawk CPPFLAGS=-Dstrtod=short_strtod LIBS="$PWD/strtod.o $(sed -n 's/^LIBS = //p' Makefile)"
install -m 755 gawk "$OUT/usr/bin/gawk"
$STRIP "$OUT/usr/bin/gawk"
ln -s gawk "$OUT/usr/bin/awk"
