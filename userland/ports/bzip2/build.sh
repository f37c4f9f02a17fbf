# bzip2 and its scripts.
make bzip2 bzip2recover CC="$CC" AR="$AR" RANLIB="$RANLIB" CFLAGS="-O2 -Wno-everything -D_FILE_OFFSET_BITS=64"
for name in bzip2 bzip2recover; do
  install -m 755 $name "$OUT/usr/bin/$name"
  $STRIP "$OUT/usr/bin/$name"
done
install -m 755 bzgrep bzdiff bzmore "$OUT/usr/bin/"
ln -s bzip2 "$OUT/usr/bin/bunzip2"
ln -s bzip2 "$OUT/usr/bin/bzcat"
ln -s bzgrep "$OUT/usr/bin/bzegrep"
ln -s bzgrep "$OUT/usr/bin/bzfgrep"
ln -s bzdiff "$OUT/usr/bin/bzcmp"
ln -s bzmore "$OUT/usr/bin/bzless"
