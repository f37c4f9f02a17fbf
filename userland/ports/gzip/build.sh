# GNU gzip and its scripts.
export CFLAGS="-O2 -Wno-everything"
./configure --host="$HOST" --prefix=/usr --disable-dependency-tracking
make -C lib
make version.h gzip
install -m 755 gzip "$OUT/usr/bin/gzip"
$STRIP "$OUT/usr/bin/gzip"
scripts="gunzip zcat zcmp zdiff zegrep zfgrep zforce zgrep zless zmore znew"
make $scripts SHELL=/bin/sh GREP=grep
for name in $scripts; do
  install -m 755 $name "$OUT/usr/bin/$name"
done
ln -s gunzip "$OUT/usr/bin/uncompress"
