# GNU make. Jobs start by posix_spawn; there are no loadable objects and no Guile. The answers are those that configure finds by running programs.
export CFLAGS="-O2 -std=gnu17 -Wno-everything" make_cv_job_server=yes ac_cv_func_fork=yes ac_cv_func_vfork_works=yes
export make_cv_synchronous_posix_spawn=yes
# What $(CXX) is to a Makefile that does not say: configure takes its own, with its path.
unset CXX
# The archive has no manual.
mkdir -p doc
: > doc/Makefile.in
./configure --host="$HOST" --prefix=/usr --disable-nls --disable-load --without-guile
make -C lib
make make
install -m 755 make "$OUT/usr/bin/make"
$STRIP "$OUT/usr/bin/make"
ln -s make "$OUT/usr/bin/gmake"
