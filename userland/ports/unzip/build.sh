# Info-ZIP's unzip, with bzip2's method.
make -f "$PORT/our.mk" BZIP2="$LIBRARIES/bzip2" CC="$CC"
for name in unzip funzip; do
  install -m 755 $name "$OUT/usr/bin/$name"
  $STRIP "$OUT/usr/bin/$name"
done
ln -s unzip "$OUT/usr/bin/zipinfo"
install -m 755 unix/zipgrep "$OUT/usr/bin/zipgrep"
