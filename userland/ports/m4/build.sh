# GNU m4. syscmd and esyscmd go by posix_spawn, as its gnulib does.
export CFLAGS="-O2 -std=gnu17 -Wno-everything"
# Else a fault handler, which guests have not, is built wrongly.
export sv_cv_stack_direction=-1 sv_cv_stack_direction_msg="grows down"
./configure --host="$HOST" --prefix=/usr --disable-nls --disable-threads --enable-changeword=no
make -C lib
make -C src m4
install -m 755 src/m4 "$OUT/usr/bin/m4"
$STRIP "$OUT/usr/bin/m4"
