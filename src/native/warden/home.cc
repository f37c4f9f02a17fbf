// SPDX-License-Identifier: Apache-2.0
#include "native/warden/home.h"

#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "native/warden/wire.h"

namespace cloche::warden {
namespace {

// Pid 1 of a user who is not root inside has root's privileges, unlike the user's programs.
class Unprivileged {
 public:
  Unprivileged() noexcept {
    if (::geteuid() == 0) return;
    is_changed_ = ::syscall(SYS_capget, &head_, before_.data()) == 0;
    Sets none = before_;
    for (auto& part : none) part.effective = 0;
    is_changed_ = is_changed_ && ::syscall(SYS_capset, &head_, none.data()) == 0;
  }
  ~Unprivileged() {
    if (is_changed_) (void)::syscall(SYS_capset, &head_, before_.data());
  }
  Unprivileged(const Unprivileged&) = delete;
  Unprivileged& operator=(const Unprivileged&) = delete;

 private:
  using Sets = std::array<__user_cap_data_struct, 2>;
  __user_cap_header_struct head_{_LINUX_CAPABILITY_VERSION_3, 0};
  Sets before_{};
  bool is_changed_ = false;
};

}  // namespace

int make_folders(const char* path) noexcept {
  std::array<char, most_path> so_far{};
  const std::string_view whole(path);
  if (whole.size() >= so_far.size()) return ENAMETOOLONG;
  for (std::size_t end = whole.find('/', 1);; end = whole.find('/', end + 1)) {
    const std::string_view part = whole.substr(0, end);
    std::copy(part.begin(), part.end(), so_far.begin());
    so_far[part.size()] = '\0';
    const bool is_last = end == std::string_view::npos;
    if (::mkdir(so_far.data(), 0755) != 0) {
      if (errno != EEXIST) return errno;
      struct stat of{};
      if (::stat(so_far.data(), &of) != 0) return errno;
      if (!S_ISDIR(of.st_mode)) return is_last ? EEXIST : ENOTDIR;
    }
    if (is_last) return 0;
  }
}

int make_home(const char* path) noexcept {
  if (*path == '\0') return 0;
  const Unprivileged as_the_guest;
  return make_folders(path);
}

}  // namespace cloche::warden
