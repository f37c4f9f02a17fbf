# The curses library in $root, from the archive in $EXTRA/ncurses; descriptions of these terminals are compiled into it.
terminals=ansi,dumb,linux,rxvt,screen,screen-256color,tmux,tmux-256color,vt100,vt220,xterm,xterm-256color,xterm-color
root=$PWD/ncurses
(
  cd "$EXTRA/ncurses"
  # The key above Enter sends what it sends in Debian's descriptions, and from the terminals that people have: DEL.
  for name in xterm+kbs rxvt-basic screen-base; do
    sed -i "/^$name|/,/^[^[:blank:]#]/ s/kbs=^H/kbs=^?/" misc/terminfo.src
  done
  ./configure --host="$HOST" --build="$(./config.guess)" --with-build-cc=cc --prefix=/usr --datadir=/usr/share --enable-widec --disable-db-install \
    --without-cxx --without-cxx-binding --without-ada --without-debug --without-manpages --without-tests --disable-home-terminfo \
    --with-default-terminfo-dir=/usr/share/terminfo --with-fallbacks="$terminals" --without-panel --without-menu --without-form \
    --disable-stripping --without-dlsym --with-tic-path="$(command -v tic)" --with-infocmp-path="$(command -v infocmp)"
  make -C include
  make -C ncurses
  make -j1 -C include DESTDIR="$root" install
  make -j1 -C ncurses DESTDIR="$root" install
)
ln -sfn . "$root/usr/include/ncursesw"
# What configure scripts ask pkg-config for: this library, and none of the build machine's.
cat >"$PKG_CONFIG_LIBDIR/ncursesw.pc" <<EOT
Name: ncursesw
Description: curses for guests
Version: 6.4.20221231
Cflags: -I$root/usr/include -I$root/usr/include/ncursesw
Libs: -L$root/usr/lib -lncursesw
EOT
