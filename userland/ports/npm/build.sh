# npm: what runs of its package. Its manual, the maps of its sources, what only compilers read and what compiles extensions in C++ are left out. What
# is installed for all projects goes where its user may write, and whose programs are in a shell's PATH.
find . -depth \( -name '*.d.ts' -o -name '*.d.cts' -o -name '*.d.mts' -o -name '*.map' -o -name '*.md' ! -iname 'licen[cs]e*' \) -type f -delete
rm -rf docs man node_modules/node-gyp/gyp
printf '%s\n' 'prefix=${HOME}/.local' 'update-notifier=false' > npmrc
mkdir -p "$OUT/usr/lib/node_modules"
cp -R . "$OUT/usr/lib/node_modules/npm"
chmod 755 "$OUT"/usr/lib/node_modules/npm/bin/*-cli.js
for name in npm npx; do ln -s "../lib/node_modules/npm/bin/$name-cli.js" "$OUT/usr/bin/$name"; done
