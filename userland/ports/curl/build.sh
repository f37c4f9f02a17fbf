# The program of the library's recipe, which is compiled with it.
install -m 755 "$LIBRARIES/curl/bin/curl" "$OUT/usr/bin/curl"
$STRIP "$OUT/usr/bin/curl"
