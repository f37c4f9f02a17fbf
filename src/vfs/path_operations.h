// SPDX-License-Identifier: Apache-2.0
// PathOperations: whole operations on paths, for the host's side: the public `Files`, the doors,
// package installation. Every one is bounded, and never follows a path out of the namespace. Not
// thread-safe: under the kernel's lock.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vfs/namespace.h"
#include "vfs/tree_watch.h"

namespace cloche::vfs {

struct FileInfo {
  std::string name;  // last component, or the path for glob
  Stat stat;
  std::string target;  // of a symbolic link
};

enum class Parents : std::uint8_t { must_exist, make };
enum class Existing : std::uint8_t { fine, error };
enum class WriteMode : std::uint8_t { replace, append, make };  // make: EEXIST where it is there

class PathOperations {
 public:
  // Acts as `cred`, relative paths start at `start`. The namespace outlives this.
  PathOperations(Namespace& space, Node start, Credentials cred);
  const Credentials& user() const noexcept { return cred_; }

  // The whole file; EFBIG when it is larger than `size_max`. EISDIR, ENXIO for devices and fifos.
  Result<std::string> read_file(std::string_view path, std::uint64_t size_max);
  // Up to `size` bytes from `offset`; fewer where the file ends.
  Result<std::string> read_range(std::string_view path, std::uint64_t offset, std::size_t size);
  // Makes or overwrites, whole or not at all: on ENOSPC what was there is there.
  Result<void> write_file(std::string_view path, std::string_view content,
                          std::uint32_t mode = 0644, Parents parents = Parents::must_exist,
                          WriteMode write_mode = WriteMode::replace);
  // A regular file; where it is not there and `create_mode` is, a new one of that mode.
  // EISDIR, ENXIO for what is none.
  Result<std::unique_ptr<NodeIo>> open_file(std::string_view path, Access access,
                                            std::optional<std::uint32_t> create_mode,
                                            Existing existing);
  // Entries by name, without "." and ".."; EFBIG when there are more than `entries_max`.
  Result<std::vector<FileInfo>> list(std::string_view path, std::size_t entries_max);
  Result<FileInfo> stat(std::string_view path, Follow follow = Follow::yes);
  Result<void> make_dir(std::string_view path, std::uint32_t mode = 0755,
                        Parents parents = Parents::must_exist);
  // A file, a link, or an empty directory.
  Result<void> remove(std::string_view path);
  // With everything below it. Stops at mount points (EBUSY).
  Result<void> remove_all(std::string_view path);
  Result<void> rename(std::string_view from, std::string_view to,
                      RenameMode mode = RenameMode::replace);
  Result<void> chmod(std::string_view path, std::uint32_t mode);
  Result<void> change_owner(std::string_view path, std::uint32_t user, std::uint32_t group);
  Result<void> set_times(std::string_view path, Timestamp accessed, Timestamp modified,
                         Follow follow = Follow::yes);
  Result<void> symlink(std::string_view target, std::string_view path);
  // One more name; a symbolic link gets one itself.
  Result<void> link(std::string_view existing, std::string_view path);
  // Absolute, without symbolic links, "." and "..".
  Result<std::string> real_path(std::string_view path);
  // Extended attributes; these follow symbolic links.
  Result<std::map<std::string, std::string>> attributes(std::string_view path);
  Result<void> set_attribute(std::string_view path, std::string_view name, std::string_view value);
  Result<void> remove_attribute(std::string_view path, std::string_view name);
  // Paths that match: '*', '?', '[...]', and '**' for any number of directories; sorted. EFBIG over
  // `matches_max`.
  Result<std::vector<std::string>> glob(std::string_view pattern, std::size_t matches_max);
  // Of a directory that may be read; see TreeWatch::make.
  Result<std::unique_ptr<TreeWatch>> watch(std::string_view path, TreeWatch::Depth depth,
                                           std::function<void()> changed);

 private:
  Result<Node> make_parents(std::string_view path, std::uint32_t mode);
  Result<std::unique_ptr<NodeIo>> create_open(const Resolved& at, std::uint32_t mode,
                                              Access access);

  Namespace& space_;
  Node start_;
  Credentials cred_;
};

}  // namespace cloche::vfs
