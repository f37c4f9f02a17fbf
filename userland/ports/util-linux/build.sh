# The small tools of util-linux.
export CFLAGS="-O2 -Wno-everything -Dfork=vfork"
./configure --host="$HOST" --prefix=/usr --disable-nls --disable-shared \
  --without-tinfo --without-ncurses --without-ncursesw --without-python --without-udev --without-systemd \
  --without-cap-ng --without-libz --without-readline --disable-libuuid --disable-libblkid --disable-libmount --disable-libfdisk \
  --enable-libsmartcols --disable-asciidoc --disable-dependency-tracking
tools="column rev hexdump getopt cal flock setsid col colrm look namei mcookie whereis script scriptreplay scriptlive rename renice prlimit"
make $tools
for name in $tools; do
  install -m 755 $name "$OUT/usr/bin/$name"
  $STRIP "$OUT/usr/bin/$name"
done
ln -s hexdump "$OUT/usr/bin/hd"
