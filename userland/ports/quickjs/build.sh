# QuickJS-ng: its own program under the name qjs, and node: the same engine with our modules. A Rust crate carries the C source.
flags="-O2 -Wno-everything -D_GNU_SOURCE -DQUICKJS_NG_BUILD -Iquickjs"
for file in quickjs/quickjs quickjs/libregexp quickjs/libunicode quickjs/dtoa quickjs/quickjs-libc quickjs/gen/repl quickjs/gen/standalone; do
  printf '%s.o: %s.c\n\t$(CC) $(FLAGS) -c -o $@ $<\n' "$file" "$file"
  objects="${objects:-} $file.o"
done > all.mk
printf 'all:%s\n' "$objects" >> all.mk
make -f all.mk all FLAGS="$flags"
$CC $flags -Dmain=qjs_main -c -o qjs.o quickjs/qjs.c
$CC $flags -I"$PORT" -o "$OUT/usr/bin/node" "$PORT/host.c" "$PORT/host_files.c" "$PORT/host_process.c" qjs.o $objects
$STRIP "$OUT/usr/bin/node"
for name in js qjs nodejs; do ln -s node "$OUT/usr/bin/$name"; done
mkdir -p "$OUT/usr/lib/node"
install -m 644 "$PORT"/node/*.js "$OUT/usr/lib/node/"
