# GNU awk, without MPFR (-M) and without loadable extensions.
export CFLAGS="-O2 -Wno-everything -Dfork=vfork"
./configure --host="$HOST" --prefix=/usr --disable-nls --disable-extensions --disable-mpfr --disable-pma --without-readline \
  --disable-dependency-tracking
make -C support -j"$JOBS"
make -j"$JOBS" gawk
install -m 755 gawk "$OUT/usr/bin/gawk"
$STRIP "$OUT/usr/bin/gawk"
ln -s gawk "$OUT/usr/bin/awk"
