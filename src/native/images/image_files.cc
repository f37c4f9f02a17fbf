// SPDX-License-Identifier: Apache-2.0
#include "native/images/image_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <sstream>

namespace cloche::images {
namespace {

bool is_absent(int root, const std::string& folder, const std::string& name) {
  if (folder.find("..") != std::string::npos) return false;
  struct stat of{};
  const std::string below = "./" + folder + "/" + name;
  return ::fstatat(root, below.c_str(), &of, AT_SYMLINK_NOFOLLOW) != 0 &&
         (errno == ENOENT || errno == ENOTDIR);
}

}  // namespace

bool has_program(int root, const std::string& path, const std::string& name) {
  std::istringstream folders(path);
  for (std::string folder; std::getline(folders, folder, ':');)
    if (!folder.empty() && !is_absent(root, folder, name)) return true;
  return false;
}

}  // namespace cloche::images
