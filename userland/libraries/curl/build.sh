# curl's library and its program, with TLS by the host (host_tls.c), zlib, and HTTP/1.1; without threads, so names are resolved in place.
zlib=$LIBRARIES/zlib
cp "$RECIPE/host_tls.c" lib/vtls/bearssl.c
export CFLAGS="-O2 -Wno-everything" CPPFLAGS="-DUSE_BEARSSL=1 -I$zlib/include" LDFLAGS="-L$zlib/lib" LIBS="-lz"
# A name is resolved by the host, soon or not at all: no alarm, which knows no less than a second.
curl_disallow_alarm=yes ./configure --host="$HOST" --prefix=/usr --disable-shared --enable-static --without-ssl --with-zlib="$zlib" --without-brotli \
  --without-zstd --without-libpsl --without-libidn2 --without-nghttp2 --without-librtmp --without-libssh2 --without-ca-bundle \
  --without-ca-path --disable-threaded-resolver --disable-ldap --disable-ldaps --disable-rtsp --disable-tftp --disable-smb \
  --disable-ntlm --disable-ntlm-wb --disable-tls-srp --disable-manual --disable-dependency-tracking \
  --disable-pthreads --disable-doh
make -C lib
make -C src curl
mkdir "$OUT/include" "$OUT/lib" "$OUT/bin"
cp -R include/curl "$OUT/include/"
rm "$OUT"/include/curl/Makefile*
cp lib/.libs/libcurl.a "$OUT/lib/"
cp src/curl "$OUT/bin/"
