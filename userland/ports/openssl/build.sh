# The program openssl: all of OpenSSL in one file, with the algorithms that are out of use (-provider legacy), as nothing can be loaded.
cd openssl
cp "$PORT/system_random.h" apps/
perl ./Configure linux-generic32 no-asm no-async no-shared no-dso no-module no-threads no-tests no-docs no-atexit no-quic no-secure-memory \
  --with-rand-seed=os --prefix=/usr --openssldir=/usr/lib/ssl CFLAGS="-O2 -Wno-everything"
make build_generated
make apps/openssl
install -m 755 apps/openssl "$OUT/usr/bin/openssl"
$STRIP "$OUT/usr/bin/openssl"
mkdir -p "$OUT/usr/lib/ssl/certs" "$OUT/usr/lib/ssl/private"
install -m 644 "$PORT/openssl.cnf" "$OUT/usr/lib/ssl/openssl.cnf"
