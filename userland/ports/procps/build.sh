# procps, with curses for top and watch.
export CFLAGS="-O2 -Wno-everything -Dfork=vfork" CPPFLAGS=
curses=$LIBRARIES/ncurses
mkdir curses
ln -s "$curses/lib/libncursesw.a" curses/libtinfo.a
export CPPFLAGS="-I$curses/include" LDFLAGS="-L$curses/lib -L$PWD/curses"
./configure --host="$HOST" --prefix=/usr --disable-nls --disable-shared --enable-watch8bit --without-systemd --disable-numa --disable-modern-top \
  --enable-kill --enable-pidof --disable-dependency-tracking
make src/ps/pscommand src/free src/uptime src/pgrep src/pidof src/kill src/pmap src/pwdx src/vmstat src/top/top src/watch
install -m 755 src/ps/pscommand "$OUT/usr/bin/ps"
install -m 755 src/top/top "$OUT/usr/bin/top"
for name in free uptime pgrep pidof kill pmap pwdx vmstat watch; do
  install -m 755 src/$name "$OUT/usr/bin/$name"
done
$STRIP "$OUT"/usr/bin/*
ln -s pgrep "$OUT/usr/bin/pkill"
# GNU time's source archive is in no registry, and GNU's iconv is a part of its C library: these two are ours.
for name in time iconv; do
  $CC -O2 -Wall -Wextra -Werror -o "$OUT/usr/bin/$name" "$PORT/$name.c"
  $STRIP "$OUT/usr/bin/$name"
done
