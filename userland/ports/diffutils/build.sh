# GNU diff, cmp, diff3, sdiff.
export CFLAGS="-O2 -Wno-everything -Dfork=vfork" PR_PROGRAM=/usr/bin/pr ac_cv_path_PR_PROGRAM=/usr/bin/pr
./configure --host="$HOST" --prefix=/usr --disable-nls --disable-dependency-tracking
make -C lib
make -C src
for name in cmp diff diff3 sdiff; do
  install -m 755 src/$name "$OUT/usr/bin/$name"
  $STRIP "$OUT/usr/bin/$name"
done
