# The curses library in $root, from the archive in $EXTRA/ncurses; descriptions of these terminals are compiled into it.
terminals=ansi,dumb,linux,rxvt,screen,screen-256color,tmux,tmux-256color,vt100,vt220,xterm,xterm-256color,xterm-color
root=$PWD/ncurses
(
  cd "$EXTRA/ncurses"
  ./configure --host="$HOST" --build="$(./config.guess)" --with-build-cc=cc --prefix=/usr --datadir=/usr/share --enable-widec --disable-db-install \
    --without-cxx --without-cxx-binding --without-ada --without-debug --without-manpages --without-tests --disable-home-terminfo \
    --with-default-terminfo-dir=/usr/share/terminfo --with-fallbacks="$terminals" --without-panel --without-menu --without-form \
    --disable-stripping --without-dlsym --with-tic-path="$(command -v tic)" --with-infocmp-path="$(command -v infocmp)"
  make -C include -j"$JOBS"
  make -C ncurses -j"$JOBS"
  make -C include DESTDIR="$root" install
  make -C ncurses DESTDIR="$root" install
)
ln -sfn . "$root/usr/include/ncursesw"
export NCURSESW_CFLAGS="-I$root/usr/include -I$root/usr/include/ncursesw" NCURSESW_LIBS="-L$root/usr/lib -lncursesw"
