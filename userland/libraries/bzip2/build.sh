# bzip2's library.
make libbz2.a CC="$CC" AR="$AR" RANLIB="$RANLIB" CFLAGS="-O2 -Wno-everything -D_FILE_OFFSET_BITS=64"
mkdir "$OUT/include" "$OUT/lib"
cp bzlib.h "$OUT/include/"
cp libbz2.a "$OUT/lib/"
