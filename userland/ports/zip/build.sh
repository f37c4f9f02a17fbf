# Info-ZIP's zip, with bzip2's method.
make -f "$PORT/our.mk" BZIP2="$LIBRARIES/bzip2" CC="$CC"
for name in zip zipnote zipsplit zipcloak; do
  install -m 755 $name "$OUT/usr/bin/$name"
  $STRIP "$OUT/usr/bin/$name"
done
