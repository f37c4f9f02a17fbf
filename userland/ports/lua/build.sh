# Lua and its compiler, as for Linux but for loading shared libraries, which guests have not.
make -C src lua luac CC="$CC" AR="$AR rcu" RANLIB="$RANLIB" CFLAGS="-O2 -Wno-everything -DLUA_USE_POSIX -DLUA_COMPAT_5_3" LIBS=
install -m 755 src/lua "$OUT/usr/bin/lua5.4"
install -m 755 src/luac "$OUT/usr/bin/luac"
$STRIP "$OUT/usr/bin/lua5.4" "$OUT/usr/bin/luac"
ln -s lua5.4 "$OUT/usr/bin/lua"
