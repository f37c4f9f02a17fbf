# wget, with TLS by the host (host_tls.c) and zlib.
zlib=$LIBRARIES/zlib
cp "$PORT/host_tls.c" src/
printf '#ifdef HAVE_SSL\n#include "host_tls.c"\n#endif\n' >>src/utils.c
export CFLAGS="-O2 -Wno-everything" CPPFLAGS="-DHAVE_SSL=1 -I$zlib/include" LDFLAGS="-L$zlib/lib"
export ZLIB_CFLAGS="-I$zlib/include" ZLIB_LIBS="-L$zlib/lib -lz"
PKG_CONFIG=false ac_cv_lib_nettle_nettle_md4_init=no ./configure --host="$HOST" --prefix=/usr --sysconfdir=/etc --without-ssl --disable-nls --disable-iri --disable-pcre --disable-pcre2 \
  --without-libpsl --without-libuuid --without-metalink --without-cares --disable-ntlm --disable-dependency-tracking --with-zlib
make -C lib
make -C src wget
# `wget --version` tells how it was compiled, with the folders of the machine that did it.
printf '#include "version.h"\nconst char *version_string = "1.21.3";\n' >src/version.c
printf 'const char *compilation_string = "userland/cc -O2";\nconst char *link_string = "userland/cc";\n' >>src/version.c
make -C src wget
install -m 755 src/wget "$OUT/usr/bin/wget"
$STRIP "$OUT/usr/bin/wget"
