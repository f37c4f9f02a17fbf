# The curses library, descriptions of these terminals compiled into it, with its own programs and the descriptions as files.
terminals=ansi,dumb,linux,rxvt,screen,screen-256color,tmux,tmux-256color,vt100,vt220,xterm,xterm-256color,xterm-color
# The key above Enter sends what it sends in Debian's descriptions, and from the terminals that people have: DEL.
for name in xterm+kbs rxvt-basic screen-base; do
  sed -i "/^$name|/,/^[^[:blank:]#]/ s/kbs=^H/kbs=^?/" misc/terminfo.src
done
export CFLAGS="-O2 -Wno-everything" CPPFLAGS=
./configure --host="$HOST" --build="$(./config.guess)" --with-build-cc=cc --prefix=/usr --datadir=/usr/share --enable-widec --disable-db-install \
  --without-cxx --without-cxx-binding --without-ada --without-debug --without-manpages --without-tests --disable-home-terminfo \
  --with-default-terminfo-dir=/usr/share/terminfo --with-fallbacks="$terminals" --without-panel --without-menu --without-form \
  --disable-stripping --without-dlsym --with-tic-path="$(command -v tic)" --with-infocmp-path="$(command -v infocmp)"
for part in include ncurses progs; do make -C $part; done
root=$PWD/installed
for part in include ncurses; do make -j1 -C $part DESTDIR="$root" install; done
mkdir "$OUT/bin" "$OUT/share"
cp -R "$root/usr/include" "$root/usr/lib" "$OUT/"
ln -sfn . "$OUT/include/ncursesw"
for name in tput clear infocmp tset; do
  install -m 755 "progs/$name" "$OUT/bin/$name"
  $STRIP "$OUT/bin/$name"
done
tic -x -e "$terminals" -o "$OUT/share/terminfo" misc/terminfo.src
# What configure scripts ask pkg-config for.
mkdir -p "$OUT/lib/pkgconfig"
cat >"$OUT/lib/pkgconfig/ncursesw.pc" <<'END'
root=${pcfiledir}/../..
Name: ncursesw
Description: curses for guests
Version: 6.4.20221231
Cflags: -I${root}/include -I${root}/include/ncursesw
Libs: -L${root}/lib -lncursesw
END
