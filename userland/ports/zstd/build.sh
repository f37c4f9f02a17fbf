# zstd, without threads and without the other compressors' formats.
make -C programs zstd CC="$CC" AR="$AR" UNAME=Linux CFLAGS="-O2 -Wno-everything" BUILD_DIR=obj \
  HAVE_PTHREAD=0 HAVE_THREAD=0 HAVE_ZLIB=0 HAVE_LZMA=0 HAVE_LZ4=0 BACKTRACE=0 ZSTD_NO_ASM=1 ZSTD_LEGACY_SUPPORT=0
install -m 755 programs/zstd "$OUT/usr/bin/zstd"
$STRIP "$OUT/usr/bin/zstd"
install -m 755 programs/zstdgrep programs/zstdless "$OUT/usr/bin/"
ln -s zstd "$OUT/usr/bin/unzstd"
ln -s zstd "$OUT/usr/bin/zstdcat"
