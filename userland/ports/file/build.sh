# file, and its database, which the build machine's file of the same version compiles.
case $(file --version) in
  file-5.44*) ;;
  *) echo "the build needs file 5.44 (Debian 12's)" >&2; exit 1 ;;
esac
export CFLAGS="-O2 -Wno-everything -Dfork=vfork" ac_cv_func_fork=no
./configure --host="$HOST" --prefix=/usr --disable-shared --enable-static --disable-libseccomp --disable-zlib --disable-bzlib \
  --disable-xzlib --disable-zstdlib --disable-lzlib --datadir=/usr/share/misc --disable-dependency-tracking
make -C src magic.h
make -C src file CFLAGS="$CFLAGS -DMAGIC='\"/usr/share/misc/magic\"'"
install -m 755 src/file "$OUT/usr/bin/file"
$STRIP "$OUT/usr/bin/file"
mkdir -p magic/out "$OUT/usr/share/misc"
(cd magic/out && file -C -m ../Magdir && install -m 644 Magdir.mgc "$OUT/usr/share/misc/magic.mgc")
