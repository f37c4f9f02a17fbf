# procps without its full-screen programs.
export CFLAGS="-O2 -Wno-everything -Dfork=vfork"
./configure --host="$HOST" --prefix=/usr --disable-nls --disable-shared --without-ncurses --without-systemd --disable-numa --disable-modern-top \
  --enable-kill --enable-pidof --disable-dependency-tracking
make -j"$JOBS" src/ps/pscommand src/free src/uptime src/pgrep src/pidof src/kill src/pmap src/pwdx src/vmstat
install -m 755 src/ps/pscommand "$OUT/usr/bin/ps"
for name in free uptime pgrep pidof kill pmap pwdx vmstat; do
  install -m 755 src/$name "$OUT/usr/bin/$name"
done
$STRIP "$OUT"/usr/bin/*
ln -s pgrep "$OUT/usr/bin/pkill"
