// SPDX-License-Identifier: Apache-2.0
#include "native/images/image_files.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <sstream>

#include "base/unique_fd.h"

namespace cloche::images {
namespace {

bool is_absent(int root, const std::string& file) {
  const open_how how{.flags = O_PATH | O_CLOEXEC, .mode = 0, .resolve = RESOLVE_IN_ROOT};
  const UniqueFd found(
      static_cast<int>(::syscall(SYS_openat2, root, file.c_str(), &how, sizeof how)));
  return !found && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP);
}

}  // namespace

bool has_program(int root, const std::string& path, const std::string& name) noexcept {
  std::istringstream folders(path);
  for (std::string folder; std::getline(folders, folder, ':');)
    if (!folder.empty() && !is_absent(root, folder + "/" + name)) return true;
  return false;
}

}  // namespace cloche::images
