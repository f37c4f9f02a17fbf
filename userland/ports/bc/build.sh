# GNU bc and dc. A bc of the build machine compiles the mathematical library (-l) first.
cp -Rp . ../native
(
  unset CONFIG_SITE
  cd ../native
  ./configure CC=cc AR=ar RANLIB=ranlib CFLAGS="-O1 -w" --disable-dependency-tracking
  make -j1 -C lib
  # What this does with ed is done by sed below.
  printf '#!/bin/sh\n' > bc/fix-libmath_h
  make -j1 -C bc libmath.h
)
sed -e '1s/^/{"/' -e 's/$/",/' -e '2,$s/^/"/' -e '$d' ../native/bc/libmath.h | sed '$s/,$/,0}/' > bc/libmath.h
export CFLAGS="-O2 -Wno-everything"
./configure --host="$HOST" --prefix=/usr --disable-dependency-tracking
make -C lib
make -C bc bc -o libmath.h
make -C dc dc
for name in bc dc; do
  install -m 755 $name/$name "$OUT/usr/bin/$name"
  $STRIP "$OUT/usr/bin/$name"
done
