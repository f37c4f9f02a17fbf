# xmllint and xsltproc, each with the libraries that it needs; no network, no modules and no compressed documents.
export CFLAGS="-O2 -Wno-everything"
touch aclocal.m4 configure Makefile.in config.h.in  # a patch has changed what they are made of, for its own tests only
./configure --host="$HOST" --prefix=/usr --sysconfdir=/etc --disable-shared --disable-dependency-tracking --without-python --without-ftp --without-http \
  --without-modules --without-threads --without-zlib --without-lzma --without-readline --without-history
make libxml2.la xmllint
xml=$PWD
(
  cd "$EXTRA/libxslt"
  touch aclocal.m4 configure Makefile.in config.h.in
  ./configure --host="$HOST" --prefix=/usr --disable-shared --disable-dependency-tracking --without-python --without-crypto --without-plugins \
    --with-libxml-src="$xml"
  make -C libxslt
  make -C libexslt
  make -C xsltproc
  install -m 755 xsltproc/xsltproc "$OUT/usr/bin/xsltproc"
)
install -m 755 xmllint "$OUT/usr/bin/xmllint"
$STRIP "$OUT/usr/bin/xmllint" "$OUT/usr/bin/xsltproc"
