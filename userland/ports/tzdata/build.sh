# The compiled time zones, where C libraries look for them.
mkdir -p "$OUT/usr/share"
cp -R tzdata/zoneinfo "$OUT/usr/share/zoneinfo"
find "$OUT/usr/share/zoneinfo" -name '*.py' -delete
find "$OUT/usr/share/zoneinfo" -type d -name __pycache__ -exec rm -rf {} +
find "$OUT/usr/share/zoneinfo" -type f -exec chmod 644 {} +
