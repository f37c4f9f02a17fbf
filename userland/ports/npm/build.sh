# npm: what runs of its package. Its manual, what only compilers of TypeScript read, and the maps of its sources are left out.
find . -depth \( -name '*.d.ts' -o -name '*.d.cts' -o -name '*.d.mts' -o -name '*.map' -o -name '*.md' ! -iname 'licen[cs]e*' \) -type f -delete
rm -rf docs man
mkdir -p "$OUT/usr/lib/node_modules"
cp -R . "$OUT/usr/lib/node_modules/npm"
chmod 755 "$OUT"/usr/lib/node_modules/npm/bin/*-cli.js
for name in npm npx; do ln -s "../lib/node_modules/npm/bin/$name-cli.js" "$OUT/usr/bin/$name"; done
