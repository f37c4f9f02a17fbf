# nano, and the commands of ncurses. The descriptions of terminals lie in usr/share/terminfo too, beside which more can be put.
export CFLAGS="-O2 -Wno-everything" CPPFLAGS=
curses=$LIBRARIES/ncurses
cp -R "$curses/bin/." "$OUT/usr/bin/"
ln -s tset "$OUT/usr/bin/reset"
mkdir -p "$OUT/usr/share"
cp -R "$curses/share/terminfo" "$OUT/usr/share/"
./configure --host="$HOST" --prefix=/usr --sysconfdir=/etc --disable-nls --disable-libmagic --enable-utf8 --disable-dependency-tracking
make -C lib
make -C src nano
install -m 755 src/nano "$OUT/usr/bin/nano"
$STRIP "$OUT/usr/bin/nano"
