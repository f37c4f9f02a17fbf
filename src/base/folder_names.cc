// SPDX-License-Identifier: Apache-2.0
#include "base/folder_names.h"

#include <dirent.h>

#include <cerrno>
#include <memory>
#include <string_view>

#include "base/errno.h"

namespace cloche {

Result<std::vector<std::string>> folder_names(const std::filesystem::path& folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(folder.c_str()), &::closedir);
  if (!entries) return errno_from_host(errno);
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent* const entry = ::readdir(entries.get());
    if (entry == nullptr) break;
    const std::string_view name(entry->d_name);
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) return errno_from_host(errno);
  return names;
}

}  // namespace cloche
