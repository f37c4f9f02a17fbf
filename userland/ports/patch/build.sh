# GNU patch.
export CFLAGS="-O2 -Wno-everything" ac_cv_path_ed_PROGRAM=/usr/bin/ed
./configure --host="$HOST" --prefix=/usr --disable-xattr --disable-dependency-tracking
make -C lib
make -C src
install -m 755 src/patch "$OUT/usr/bin/patch"
$STRIP "$OUT/usr/bin/patch"
