# What of OpenSSL guests have: no TLS, no program of its own, none of the ciphers that are out of use, and nothing that is read while it runs.
# Who uses it gives it random numbers (RAND_set_rand_method) by asking the system each time, so that forks share none; from its own generator,
# whose strength it looks at before it makes an RSA key, nothing is drawn.
# Nothing of it is to run when a program ends: OPENSSL_cleanup, which nobody calls, is all that this would be for.
cd openssl
sed -i 's/^void ossl_cleanup_destructor(void) __attribute__((destructor));$/void ossl_cleanup_destructor(void);/' include/internal/e_os.h
if grep -q 'ossl_cleanup_destructor.*((destructor))' include/internal/e_os.h; then exit 1; fi
perl ./Configure linux-generic32 no-asm no-async no-shared no-dso no-module no-threads no-sock no-ui-console no-tests no-apps no-docs no-legacy no-autoload-config no-atexit \
  no-tls no-dtls no-quic no-cms no-ts no-ocsp no-ct no-cmp no-srp no-psk no-ech no-rfc3779 no-comp no-idea no-seed no-camellia no-aria no-sm2 no-sm3 no-sm4 no-rc2 no-rc4 no-rc5 no-md4 no-mdc2 \
  no-whirlpool no-bf no-cast no-siphash no-gost no-ml-kem no-ml-dsa no-slh-dsa no-lms no-argon2 no-ec2m no-hmac-drbg-kdf no-kbkdf no-krb5kdf no-snmpkdf no-srtpkdf no-sshkdf no-sskdf no-x942kdf \
  no-x963kdf no-secure-memory --with-rand-seed=os --prefix=/usr --openssldir=/etc/ssl
make build_generated libcrypto.a
mkdir "$OUT/include" "$OUT/lib"
cp libcrypto.a "$OUT/lib/"
cp -R include/openssl "$OUT/include/"
