# GNU patch.
export CFLAGS="-O2 -Wno-everything" ac_cv_path_ed_PROGRAM=/usr/bin/ed
./configure --host="$HOST" --prefix=/usr --disable-xattr --disable-dependency-tracking
make -C lib -j"$JOBS"
make -C src -j"$JOBS"
install -m 755 src/patch "$OUT/usr/bin/patch"
$STRIP "$OUT/usr/bin/patch"
