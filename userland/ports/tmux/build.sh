# tmux, with the parts of libevent and ncurses that it needs.
export CFLAGS="-O2 -Wno-everything" CPPFLAGS=
events=$PWD/events
(
  cd "$EXTRA/libevent"
  ./configure --host="$HOST" --prefix="$events" --disable-shared --disable-openssl --disable-samples --disable-libevent-regress \
    --disable-thread-support --disable-debug-mode --disable-dependency-tracking
  make include/event2/event-config.h
  make libevent_core.la
  mkdir -p "$events/lib" "$events/include"
  cp .libs/libevent_core.a "$events/lib/"
  cp -R include/. "$events/include/"
)
cat >"$PKG_CONFIG_OWN/libevent_core.pc" <<EOT
Name: libevent_core
Description: events for guests
Version: 2.1.12
Cflags: -I$events/include
Libs: -L$events/lib -levent_core
EOT
./configure --host="$HOST" --prefix=/usr --sysconfdir=/etc --disable-utf8proc --disable-systemd --disable-dependency-tracking
make tmux
install -m 755 tmux "$OUT/usr/bin/tmux"
$STRIP "$OUT/usr/bin/tmux"
