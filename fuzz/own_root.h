// SPDX-License-Identifier: Apache-2.0
// A folder that is the root for a while, for what writes files as strangers say: whatever it does,
// it does there. One that is not root has users of its own for that; where the machine gives it
// none, nothing is tried, and the log says so.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/unique_fd.h"

namespace cloche::fuzz {

// Made before the first thread, which has the rights that it needs: as a static variable.
class OwnRoot {
 public:
  OwnRoot() {
    const uid_t user = ::geteuid();
    const gid_t group = ::getegid();
    if (user != 0 && (::unshare(CLONE_NEWUSER) != 0 || !map(user, group))) {
      std::fputs("no users of its own here: nothing is tried\n", stderr);
      return;
    }
    std::string name = std::filesystem::temp_directory_path() / "cloche-fuzz-root-XXXXXX";
    CLOCHE_CHECK(::mkdtemp(name.data()) != nullptr);
    place_ = name;
    outside_.reset(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ::umask(0);
    is_there_ = true;
  }
  ~OwnRoot() {
    std::error_code ignored;
    if (!place_.empty()) std::filesystem::remove_all(place_, ignored);
  }
  OwnRoot(const OwnRoot&) = delete;
  OwnRoot& operator=(const OwnRoot&) = delete;

  bool is_there() const noexcept { return is_there_; }

  // A new folder in it, empty.
  std::filesystem::path make(const char* name) const {
    const std::filesystem::path path = place_ / name;
    std::filesystem::remove_all(path);
    CLOCHE_CHECK(::mkdir(path.c_str(), 0755) == 0);
    return path;
  }

  void within(const std::filesystem::path& folder, const std::function<void()>& act) const {
    const UniqueFd here(::open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    CLOCHE_CHECK(::chroot(folder.c_str()) == 0 && ::chdir("/") == 0);
    act();
    CLOCHE_CHECK(::fchdir(outside_.get()) == 0 && ::chroot(".") == 0 && ::fchdir(here.get()) == 0);
  }

 private:
  static bool map(uid_t user, gid_t group) {
    const auto write = [](const char* path, const std::string& text) {
      std::ofstream file(path);
      file << text << std::flush;
      return file.good();
    };
    return write("/proc/self/setgroups", "deny") &&
           write("/proc/self/uid_map", "0 " + std::to_string(user) + " 1") &&
           write("/proc/self/gid_map", "0 " + std::to_string(group) + " 1");
  }

  std::filesystem::path place_;
  UniqueFd outside_;
  bool is_there_ = false;
};

// Calls `look` for each entry below the folder, which is not followed into links.
inline void for_each_entry(int folder, const std::function<void(const struct stat&)>& look) {
  const int again = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const entries = again < 0 ? nullptr : ::fdopendir(again);
  CLOCHE_CHECK(entries != nullptr);
  while (const dirent* const entry = ::readdir(entries)) {
    const std::string name(entry->d_name);
    struct stat of{};
    if (name == "." || name == ".." ||
        ::fstatat(folder, name.c_str(), &of, AT_SYMLINK_NOFOLLOW) != 0)
      continue;
    look(of);
    if (!S_ISDIR(of.st_mode)) continue;
    (void)!::fchmodat(folder, name.c_str(), 0700, 0);
    const UniqueFd below(
        ::openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (below) for_each_entry(below.get(), look);
  }
  ::closedir(entries);
}

// Bytes as a file that is read from its beginning.
inline UniqueFd file_of(std::string_view bytes) {
  UniqueFd file(static_cast<int>(::memfd_create("bytes", MFD_CLOEXEC)));
  CLOCHE_CHECK(file && ::pwrite(file.get(), bytes.data(), bytes.size(), 0) ==
                           static_cast<ssize_t>(bytes.size()));
  return file;
}

}  // namespace cloche::fuzz
