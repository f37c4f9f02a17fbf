# xz and its scripts, without threads.
export CFLAGS="-O2 -Wno-everything"
./configure --host="$HOST" --prefix=/usr --disable-nls --disable-shared --disable-threads --disable-sandbox --disable-doc \
  --disable-lzmainfo --disable-lzma-links --disable-dependency-tracking
make -C src/liblzma
make -C src/xz
make -C src/xzdec xzdec
for name in xz xzdec; do
  install -m 755 src/$name/$name "$OUT/usr/bin/$name"
  $STRIP "$OUT/usr/bin/$name"
done
for name in unxz xzcat lzma unlzma lzcat; do
  ln -s xz "$OUT/usr/bin/$name"
done
make -C src/scripts
for name in xzdiff xzgrep xzmore xzless; do
  install -m 755 src/scripts/$name "$OUT/usr/bin/$name"
done
ln -s xzdiff "$OUT/usr/bin/xzcmp"
ln -s xzgrep "$OUT/usr/bin/xzegrep"
ln -s xzgrep "$OUT/usr/bin/xzfgrep"
