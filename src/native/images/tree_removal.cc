// SPDX-License-Identifier: Apache-2.0
#include "native/images/tree_removal.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include "base/random.h"
#include "base/unique_fd.h"

namespace cloche::images {
namespace {

// What is in a folder goes; the folders in it are moved to a yard, and their turn comes there. So no
// more than one of them is open, and no path is long.
class Removal {
 public:
  explicit Removal(const std::filesystem::path& folder)
      : top_(::open(folder.c_str(), folder_flags)) {
    if (!top_ || ::mkdirat(top_.get(), yard_name_.c_str(), 0700) != 0) return;
    yard_.reset(::openat(top_.get(), yard_name_.c_str(), folder_flags));
    if (!yard_) return;
    empty(::fcntl(top_.get(), F_DUPFD_CLOEXEC, 0));
    for (std::uint64_t next = 0; next < moved_; ++next) {
      const std::string name = std::to_string(next);
      empty(::openat(yard_.get(), name.c_str(), folder_flags));
      (void)::unlinkat(yard_.get(), name.c_str(), AT_REMOVEDIR);
    }
    (void)::unlinkat(top_.get(), yard_name_.c_str(), AT_REMOVEDIR);
    (void)::rmdir(folder.c_str());
  }

 private:
  static constexpr int folder_flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

  void empty(int folder) {
    if (folder < 0) return;
    (void)!::fchmod(folder, 0700);
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(folder), &::closedir);
    if (!entries) return (void)::close(folder);
    while (const dirent* entry = ::readdir(entries.get())) {
      const std::string_view name(entry->d_name);
      if (name == "." || name == ".." || name == yard_name_) continue;
      if (::unlinkat(folder, entry->d_name, 0) == 0 || errno == ENOENT) continue;
      // Who is moved has another parent, which is written down in it.
      (void)!::fchmodat(folder, entry->d_name, 0700, AT_SYMLINK_NOFOLLOW);
      if (::renameat(folder, entry->d_name, yard_.get(), std::to_string(moved_).c_str()) == 0)
        ++moved_;
    }
  }

  const std::string yard_name_ = ".removed-" + random_hex(8);
  UniqueFd top_, yard_;
  std::uint64_t moved_ = 0;
};

}  // namespace

void remove_tree(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::remove_all(folder, error);
  if (error) (void)Removal(folder);
}

}  // namespace cloche::images
