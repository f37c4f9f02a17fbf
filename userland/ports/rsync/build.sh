# rsync, both ends of it. Its sums are MD5 and its compression zlib's, which all others know; no daemon, ACLs, extended attributes.
zlib=$LIBRARIES/zlib
popt=$EXTRA/popt/src
(cd "$popt" && for file in popt poptconfig popthelp poptint poptparse; do
  $CC -O2 -Wno-everything -DHAVE_STDLIB_H -DHAVE_STPCPY -DHAVE_STRERROR -DHAVE_UNISTD_H -DPACKAGE='"popt"' -DPOPT_SYSCONFDIR='"/etc"' -c $file.c
done; mkdir include lib; cp popt.h include/; $AR rcs lib/libpopt.a ./*.o)
export CFLAGS="-O2 -Wno-everything" CPPFLAGS="-I$zlib/include -I$popt/include" LDFLAGS="-L$zlib/lib -L$popt/lib"
# The archive is without the copies of these libraries; the rest is what configure finds by running programs.
mkdir popt zlib
: >popt/dummy.in
: >zlib/dummy.in
export rsync_cv_HAVE_C99_VSNPRINTF=yes rsync_cv_HAVE_SECURE_MKSTEMP=yes rsync_cv_HAVE_SOCKETPAIR=yes rsync_cv_can_hardlink_symlink=yes
./configure.sh --host="$HOST" --prefix=/usr --with-included-zlib=no --with-included-popt=no --with-rsh=ssh --disable-md2man \
  --disable-openssl --disable-xxhash --disable-zstd --disable-lz4 --disable-acl-support --disable-xattr-support --disable-locale \
  --disable-simd --disable-md5-asm --disable-roll-asm --with-nobody-user=sandbox --with-nobody-group=sandbox
make rsync
install -m 755 rsync "$OUT/usr/bin/rsync"
$STRIP "$OUT/usr/bin/rsync"
