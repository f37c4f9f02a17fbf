make hostname CC="$CC" CFLAGS="-O2 -D_GNU_SOURCE -Wno-everything" LDFLAGS=
install -m 755 hostname "$OUT/usr/bin/hostname"
for name in dnsdomainname domainname nisdomainname ypdomainname; do
  ln -s hostname "$OUT/usr/bin/$name"
done
$STRIP "$OUT/usr/bin/hostname"
