# zlib, all of it.
flags="-O2 -Wno-everything -DHAVE_UNISTD_H -D_LARGEFILE64_SOURCE=0"
for file in adler32 compress crc32 deflate gzclose gzlib gzread gzwrite infback inffast inflate inftrees trees uncompr zutil; do
  $CC $flags -c $file.c
done
mkdir "$OUT/include" "$OUT/lib"
cp zlib.h zconf.h "$OUT/include/"
$AR rcs "$OUT/lib/libz.a" ./*.o
