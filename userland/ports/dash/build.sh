# dash for the build machine's tools (mksyntax and others run there), guest code by $CC.
export CC_FOR_BUILD=cc CPPFLAGS= CFLAGS="-O2 -DNDEBUG" LDFLAGS=
# The configure script cannot run guests: musl's answers.
export ac_cv_func_sigsetmask=no
./configure --host="$HOST" --prefix=/usr --without-libedit
make -C src
install -m 755 src/dash "$OUT/usr/bin/dash"
$STRIP "$OUT/usr/bin/dash"
