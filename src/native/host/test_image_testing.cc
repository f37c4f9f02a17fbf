// SPDX-License-Identifier: Apache-2.0
#include "native/host/test_image_testing.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "cloche/error.h"
#include "native/warden/identity.h"

namespace cloche::native {
namespace {

namespace fs = std::filesystem;

// Copies programs with the libraries that they load, and Python with its library.
constexpr const char* make_image = R"sh(set -eu
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
)sh";

fs::path make_test_image() {
  const fs::path folder =
      fs::temp_directory_path() / fmt::format("cloche-test-image-{}", ::getuid());
  if (fs::exists(folder)) return folder;
  const fs::path part = folder.string() + fmt::format("-{}", ::getpid());
  fs::create_directories(part);
  const fs::path script = part.string() + ".sh";
  std::ofstream(script) << make_image;
  const std::string command = fmt::format("sh '{}' '{}' {} >/dev/null 2>&1", script.string(),
                                          part.string(), warden::box_user);
  const int status = std::system(command.c_str());
  std::error_code error;
  fs::remove(script, error);
  if (status == 0) fs::rename(part, folder, error);
  if (fs::exists(part)) fs::remove_all(part, error);
  return fs::exists(folder) ? folder : fs::path();
}

}  // namespace

const fs::path& test_image() {
  static const fs::path image = make_test_image();
  return image;
}

bool test_image_has_python() { return fs::exists(test_image() / "usr/bin/python3"); }

fs::path warden_program() {
  return fs::canonical("/proc/self/exe").parent_path() / "cloche-warden";
}

const std::string& no_boxes_here() {
  static const std::string reason = []() -> std::string {
    if (test_image().empty()) return "no image for tests can be made of this machine's programs";
    try {
      const UniqueFd image(::open(test_image().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      Warden warden(warden_program());
      (void)warden.make({.image = image.get()});
    } catch (const Error& problem) {
      return problem.what();
    }
    return {};
  }();
  return reason;
}

}  // namespace cloche::native
