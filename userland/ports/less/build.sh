# less, over the terminal library and the table of terminals that bash brings.
term=$EXTRA/bash/lib/termcap
for file in termcap tparam; do
  $CC -O2 -Wno-everything -DHAVE_STDLIB_H -DHAVE_STRING_H -DHAVE_UNISTD_H -DHAVE_FCNTL_H -DTERMCAP_FILE='"/usr/share/termcap"' -c -o $file.o $term/$file.c
done
$AR rcs libtermcap.a termcap.o tparam.o
export CFLAGS="-O2 -Wno-everything" LDFLAGS="-L$PWD"
./configure --host="$HOST" --prefix=/usr --with-regex=posix
make less lesskey lessecho
for name in less lesskey lessecho; do
  install -m 755 $name "$OUT/usr/bin/$name"
  $STRIP "$OUT/usr/bin/$name"
done
