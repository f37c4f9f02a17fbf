# GNU ed. Its configure takes the compiler as an argument.
./configure --prefix=/usr CC="$CC" CFLAGS="-O2 -Wno-everything"
make ed red
for name in ed red; do
  install -m 755 $name "$OUT/usr/bin/$name"
done
$STRIP "$OUT/usr/bin/ed"
