# git: one program, its daemon, its shell scripts, and HTTP by curl, whose TLS is the host's. Without Perl and Tcl.
zlib=$LIBRARIES/zlib curl=$LIBRARIES/curl
cp "$PORT/config.mak" config.mak
export GIT_CEILING_DIRECTORIES=/
tools="uname_S=Linux uname_R=6.1 uname_M=wasm32 AR=$AR"
make $tools CC="$CC" ZLIB_PATH="$zlib" CURL_CFLAGS="-I$curl/include" CURL_LDFLAGS="-L$curl/lib -lcurl -L$zlib/lib -lz" \
  git git-remote-http git-http-fetch git-daemon git-sh-i18n--envsubst git-bisect git-merge-octopus git-merge-one-file git-merge-resolve git-mergetool git-mergetool--lib \
  git-difftool--helper git-filter-branch git-quiltimport git-request-pull git-submodule git-sh-i18n git-sh-setup
make -C templates $tools SHELL_PATH=/bin/sh PERL_PATH=/usr/bin/perl

core=$OUT/usr/lib/git-core
mkdir -p "$core/mergetools" "$OUT/usr/share/git-core"
install -m 755 git "$OUT/usr/bin/git"
install -m 755 git-daemon git-remote-http git-http-fetch git-sh-i18n--envsubst "$core/"
$STRIP "$OUT/usr/bin/git" "$core/git-daemon" "$core/git-remote-http" "$core/git-http-fetch" "$core/git-sh-i18n--envsubst"
for name in git-upload-pack git-receive-pack git-upload-archive; do ln -s git "$OUT/usr/bin/$name"; done
ln -s ../../bin/git "$core/git"
install -m 755 git-bisect git-merge-octopus git-merge-one-file git-merge-resolve git-mergetool git-difftool--helper git-filter-branch \
  git-quiltimport git-request-pull git-submodule "$core/"
for name in https ftp ftps; do ln -s git-remote-http "$core/git-remote-$name"; done
install -m 644 git-mergetool--lib git-sh-i18n git-sh-setup mergetools/* "$core/mergetools/"
mv "$core/mergetools/git-mergetool--lib" "$core/mergetools/git-sh-i18n" "$core/mergetools/git-sh-setup" "$core/"
cp -R templates/blt "$OUT/usr/share/git-core/templates"
install -D -m 644 "$PORT/gitconfig" "$OUT/etc/gitconfig"
