# pictures: a program of ours over libraries that decode and encode pictures. Their few settings are in config, so nothing is configured.
cp "$PORT"/*.c "$PORT"/*.h .
make -f "$PORT/our.mk" PORT="$PORT" EXTRA="$EXTRA" LIBRARIES="$LIBRARIES" CC="$CC"
mkdir -p "$OUT/usr/lib/cloche"
install -m 755 pictures "$OUT/usr/lib/cloche/pictures"
$STRIP "$OUT/usr/lib/cloche/pictures"
