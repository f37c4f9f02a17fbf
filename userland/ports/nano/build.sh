# nano, with the part of ncurses that it needs, and that one's own commands. The descriptions of terminals lie in
# usr/share/terminfo too, beside which more can be put.
export CFLAGS="-O2 -Wno-everything" CPPFLAGS=
. "$PORT/ncurses.sh"
make -C "$EXTRA/ncurses/progs"
for name in tput clear infocmp tset; do
  install -m 755 "$EXTRA/ncurses/progs/$name" "$OUT/usr/bin/$name"
  $STRIP "$OUT/usr/bin/$name"
done
ln -s tset "$OUT/usr/bin/reset"
mkdir -p "$OUT/usr/share/terminfo"
tic -x -e "$terminals" -o "$OUT/usr/share/terminfo" "$EXTRA/ncurses/misc/terminfo.src"
./configure --host="$HOST" --prefix=/usr --sysconfdir=/etc --disable-nls --disable-libmagic --enable-utf8 --disable-dependency-tracking
make -C lib
make -C src nano
install -m 755 src/nano "$OUT/usr/bin/nano"
$STRIP "$OUT/usr/bin/nano"
