# toybox: one program under many names. The commands of port.toml, and what toybox itself wants, are switched on; the
# rest (mounting, Android, daemons) stays off.
python3 -B "$PORT/miniconfig.py" "$PORT/port.toml" > mini.config
export HOSTCC=cc NOSTRIP=1 CFLAGS="-O2 -funsigned-char -Wno-everything -Werror=implicit-function-declaration" CROSS_COMPILE=
export LDFLAGS= OPTIMIZE="-ffunction-sections -fdata-sections -fno-strict-aliasing"
KCONFIG_ALLCONFIG=mini.config make allnoconfig
# An option that another one forbids would be left out silently.
while read -r line; do
  grep -q "^$line$" .config || { echo "toybox has no option $line" >&2; exit 1; }
done < mini.config
# Its script starts compilers by itself: one at a time, for it knows nothing of the build's job server.
CPUS=1 make toybox
install -m 755 toybox "$OUT/usr/bin/toybox"
$STRIP "$OUT/usr/bin/toybox"
python3 -B "$PORT/miniconfig.py" --commands "$PORT/port.toml" | while read -r name; do
  ln -s toybox "$OUT/usr/bin/$name"
done
