# QuickJS-ng: its own program under the name qjs, and node: the same engine with our modules, zlib, Brotli and OpenSSL's libcrypto. Rust crates carry the C source of
# two. sucrase, which is JavaScript, takes the types out of TypeScript, and web-streams-polyfill has the streams of the web.
zlib=$EXTRA/zlib
(cd "$zlib" && for file in adler32 crc32 deflate inffast inflate inftrees trees zutil; do
  $CC -O2 -Wno-everything -DHAVE_UNISTD_H -D_LARGEFILE64_SOURCE=0 -c $file.c
done)
brotli=$EXTRA/brotli/c
(cd "$brotli" && for file in common/*.c dec/*.c enc/*.c; do
  $CC -O2 -Wno-everything -Iinclude -c -o "${file%.c}.o" "$file"
done)
# Of OpenSSL what Node.js's crypto can ask for: no TLS, no program of its own, none of the ciphers that are out of use, and nothing that is read while it runs.
openssl=$EXTRA/openssl/openssl
(cd "$openssl" && perl ./Configure linux-generic32 no-asm no-async no-shared no-dso no-module no-threads no-sock no-ui-console no-tests no-apps no-docs no-legacy no-autoload-config no-atexit \
  no-tls no-dtls no-quic no-cms no-ts no-ocsp no-ct no-cmp no-srp no-psk no-ech no-rfc3779 no-comp no-idea no-seed no-camellia no-aria no-sm2 no-sm3 no-sm4 no-rc2 no-rc4 no-rc5 no-md4 no-mdc2 \
  no-whirlpool no-bf no-cast no-siphash no-gost no-ml-kem no-ml-dsa no-slh-dsa no-lms no-argon2 no-ec2m no-hmac-drbg-kdf no-kbkdf no-krb5kdf no-snmpkdf no-srtpkdf no-sshkdf no-sskdf no-x942kdf \
  no-x963kdf no-secure-memory --with-rand-seed=os --prefix=/usr --openssldir=/etc/ssl && make build_generated libcrypto.a)
flags="-O2 -Wno-everything -D_GNU_SOURCE -DQUICKJS_NG_BUILD -Iquickjs"
for file in quickjs/quickjs quickjs/libregexp quickjs/libunicode quickjs/dtoa quickjs/quickjs-libc quickjs/gen/repl quickjs/gen/standalone; do
  printf '%s.o: %s.c\n\t$(CC) $(FLAGS) -c -o $@ $<\n' "$file" "$file"
  objects="${objects:-} $file.o"
done > all.mk
printf 'all:%s\n' "$objects" >> all.mk
make -f all.mk all FLAGS="$flags"
$CC $flags -Dmain=qjs_main -c -o qjs.o quickjs/qjs.c
$CC $flags -I"$PORT" -I"$zlib" -I"$brotli/include" -I"$openssl/include" -o "$OUT/usr/bin/node" "$PORT"/host*.c qjs.o $objects "$zlib"/*.o "$brotli"/*/*.o "$openssl/libcrypto.a"
$STRIP "$OUT/usr/bin/node"
for name in js qjs nodejs; do ln -s node "$OUT/usr/bin/$name"; done
mkdir -p "$OUT/usr/lib/node"
install -m 644 "$PORT"/node/*.js "$OUT/usr/lib/node/"
sucrase=$OUT/usr/lib/node/sucrase
mkdir -p "$sucrase"
(cd "$EXTRA/sucrase/dist" && rm -rf esm types cli.js register.js computeSourceMap.js Options.js Options-gen-types.js util/formatTokens.js && cp -R . "$sucrase")
install -m 644 "$EXTRA/sucrase/LICENSE" "$sucrase/"
web=$OUT/usr/lib/node/web-streams
mkdir -p "$web"
install -m 644 "$EXTRA/web-streams/dist/ponyfill.js" "$EXTRA/web-streams/LICENSE" "$web/"
