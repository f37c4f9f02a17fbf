# SPDX-License-Identifier: Apache-2.0
# sh test_image.sh FOLDER USER: a system image for tests, of this machine's programs with the libraries that they load, and of Python
# with its library. Where root runs this the files are that user's.
set -eu
cd "$1"
mkdir -p bin usr/bin usr/lib etc root tmp workspace var/tmp opt
copy() { mkdir -p ".$(dirname "$1")"; [ -e ".$1" ] || cp -L "$1" ".$1"; }
programs="bash cat echo ls sleep mkdir rm env head dd id tr seq wc true false touch mv cp ln stat \
  sort kill setsid find grep sed tar gzip chmod chown mknod mkfifo mount unshare readlink yes tty \
  stty cut date dirname basename tail uname ps timeout nproc"
for name in $programs; do
  program=$(command -v "$name") || continue
  case $program in /*) ;; *) program=$(PATH=/usr/bin:/bin command -p which "$name") || continue ;; esac
  program=$(readlink -f "$program")
  cp -L "$program" "usr/bin/$name"
  ldd "$program" 2>/dev/null | grep -o '/[^ ]*' | while read -r library; do copy "$library"; done
done
for name in bash cat; do ln -s "../usr/bin/$name" "bin/$name"; done
ln -s bash usr/bin/sh
ln -s ../usr/bin/bash bin/sh
if [ -x /usr/bin/python3 ]; then
  python=$(readlink -f /usr/bin/python3)
  version=$(basename "$python")
  cp "$python" usr/bin/python3
  ldd "$python" | grep -o '/[^ ]*' | while read -r library; do copy "$library"; done
  cp -r "/usr/lib/$version" "usr/lib/$version"
  rm -rf "usr/lib/$version/test" "usr/lib/$version/config-"*
  for module in usr/lib/$version/lib-dynload/*.so; do
    ldd "$module" | grep -o ' /[^ ]*' | while read -r library; do copy "$library"; done
  done
fi
echo 'root:x:0:0:root:/root:/bin/bash' >etc/passwd
echo 'root:x:0:' >etc/group
if [ "$(id -u)" = 0 ]; then chown -R "$2:$2" .; fi
chmod 755 .
