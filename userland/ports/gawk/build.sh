# GNU awk, without MPFR (-M). Its own extensions are part of it. Its configure asks printf of the machine that runs it for %F and %a.
export CFLAGS="-O2 -Wno-everything -Dfork=vfork -DPRINTF_HAS_F_FORMAT=1 -DPRINTF_HAS_A_FORMAT=1"
./configure --host="$HOST" --prefix=/usr --disable-nls --disable-extensions --disable-mpfr --disable-pma --without-readline \
  --disable-dependency-tracking
make -C support
$CC -O2 -c "$PORT/strtod.c"
extensions="filefuncs fnmatch inplace ordchr readdir readfile revoutput revtwoway rwarray time"
objects=strtod.o
mkdir -p "$OUT/usr/lib/gawk"
# gawk itself has another stack_top.
export EXT="-DHAVE_CONFIG_H -include sys/sysmacros.h -Dstack_top=extension_stack_top -I. -Iextension -Isupport"
for name in $extensions; do
  $CC $CFLAGS $EXT -DHAVE_GETTIMEOFDAY -DHAVE_NANOSLEEP -DHAVE_SYS_TIME_H -DHAVE_TIME_H -DHAVE_SYS_SELECT_H -DHAVE_SELECT \
    -DHAVE_DIRENT_H -DHAVE_FNMATCH -DHAVE_FNMATCH_H -DHAVE_DIRFD -DHAVE_SYS_STAT_H \
    -Ddl_load=${name}_load -Dplugin_is_GPL_compatible=${name}_is_GPL_compatible -c -o ext_$name.o extension/$name.c
  objects="$objects ext_$name.o"
  # gawk looks for a file of this name before it asks for the library.
  : > "$OUT/usr/lib/gawk/$name.so"
done
for name in gawkfts stack; do
  $CC $CFLAGS $EXT -c -o ext_$name.o extension/$name.c
done
$CC $CFLAGS -DEXTENSIONS="$(printf 'X(%s) ' $extensions)" -I. -c "$PORT/extensions.c"
all=
for object in $objects ext_gawkfts.o ext_stack.o extensions.o; do all="$all $PWD/$object"; done
make gawk CPPFLAGS="-DDYNAMIC -Dstrtod=short_strtod" LIBS="$all $(sed -n 's/^LIBS = //p' Makefile)"
install -m 755 gawk "$OUT/usr/bin/gawk"
$STRIP "$OUT/usr/bin/gawk"
ln -s gawk "$OUT/usr/bin/awk"
mkdir -p "$OUT/usr/share/awk"
install -m 644 awklib/eg/lib/*.awk "$OUT/usr/share/awk"
