// SPDX-License-Identifier: Apache-2.0
#include "native/images/image_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
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

std::vector<std::string> folders_of(const std::string& path) {
  std::vector<std::string> folders;
  std::istringstream all(path);
  for (std::string folder; std::getline(all, folder, ':');)
    if (!folder.empty()) folders.push_back(folder);
  return folders;
}

bool has_program(int root, const std::string& path, const std::string& name) {
  return std::ranges::any_of(
      folders_of(path), [&](const std::string& folder) { return !is_absent(root, folder, name); });
}

}  // namespace cloche::images
