# QuickJS-ng: its own program under the name qjs, and node: the same engine with our modules, zlib, Brotli, SQLite and OpenSSL's libcrypto. Rust crates carry the C source of
# two. sucrase, which is JavaScript, takes the types out of TypeScript, web-streams-polyfill has the streams of the web, and FormatJS the classes of Intl.
zlib=$LIBRARIES/zlib
crypto=$LIBRARIES/openssl
sqlite=$LIBRARIES/sqlite
brotli=$EXTRA/brotli/c
(cd "$brotli" && for file in common/*.c dec/*.c enc/*.c; do
  $CC -O2 -Wno-everything -Iinclude -c -o "${file%.c}.o" "$file"
done)
flags="-O2 -Wno-everything -D_GNU_SOURCE -DQUICKJS_NG_BUILD -Iquickjs"
for file in quickjs/quickjs quickjs/libregexp quickjs/libunicode quickjs/dtoa quickjs/quickjs-libc quickjs/gen/repl quickjs/gen/standalone; do
  printf '%s.o: %s.c\n\t$(CC) $(FLAGS) -c -o $@ $<\n' "$file" "$file"
  objects="${objects:-} $file.o"
done > all.mk
printf 'all:%s\n' "$objects" >> all.mk
make -f all.mk all FLAGS="$flags"
$CC $flags -Dmain=qjs_main -c -o qjs.o quickjs/qjs.c
$CC $flags -I"$PORT" -I"$zlib/include" -I"$brotli/include" -I"$crypto/include" -I"$sqlite/include" -o "$OUT/usr/bin/node" "$PORT"/host*.c qjs.o $objects \
  "$zlib/lib/libz.a" "$brotli"/*/*.o "$crypto/lib/libcrypto.a" "$sqlite/lib/libsqlite3.a"
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
python3 -B "$PORT/locales.py" "$EXTRA" "$OUT/usr/lib/node/intl"
