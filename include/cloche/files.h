// SPDX-License-Identifier: Apache-2.0
// Files: the host's hand in a sandbox's file system. It acts as the sandbox's user (or its root),
// so it may do what a command in the sandbox may; relative paths start in the home folder. Paths
// never lead out of the sandbox.
//
// Thread-safe. Errors are the Errnos of the system calls of the same meaning.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cloche/result.h"
#include "cloche/run.h"

namespace cloche {

namespace sandbox {
class Departure;
class FileBackend;
}  // namespace sandbox

class FolderWatch;
class OpenFile;
enum class OpenMode : std::uint8_t;
enum class WatchDepth : std::uint8_t;

// What becomes of a file that is there already.
enum class IfThere : std::uint8_t {
  replace,
  refuse,  // EEXIST, and nothing is changed: whoever makes it meanwhile keeps what they have made
};

enum class FileKind : std::uint8_t { file, directory, symlink, other };

struct FileInfo {
  std::string name;  // the last component; for glob the path
  FileKind kind = FileKind::file;
  std::uint64_t size_bytes = 0;  // 0 for a directory
  std::uint32_t mode = 0;        // permission bits, 07777
  std::int64_t modified_ns = 0;  // since 1970, UTC
  std::int64_t created_ns = 0;
  std::int64_t accessed_ns = 0;
  std::string target;  // of a symbolic link
  std::uint32_t user = 0;
  std::uint32_t group = 0;
  std::uint64_t inode = 0;
};

class Files {
 public:
  // The whole file; EFBIG when it is larger than `limit_bytes`.
  Result<std::string> read(std::string_view path, std::uint64_t limit_bytes = 1ULL << 30) const;
  // Up to `size_bytes` from `offset`; fewer where the file ends.
  Result<std::string> read_range(std::string_view path, std::uint64_t offset,
                                 std::size_t size_bytes) const;
  // Makes or overwrites the file, whole or not at all, and the folders that lead to it.
  // Of several that write the same file at the same time one is the last, and the file is its.
  Result<void> write(std::string_view path, std::string_view content, std::uint32_t mode = 0644,
                     IfThere there = IfThere::replace);
  Result<void> append(std::string_view path, std::string_view content);
  // See cloche/open_file.h. The folders that lead to it must be there; EISDIR for one, ENXIO for
  // what is no file, but /dev/null. `permissions` are those of a new file.
  Result<std::unique_ptr<OpenFile>> open(std::string_view path, OpenMode mode,
                                         std::uint32_t permissions = 0644);
  // By name, without "." and "..".
  Result<std::vector<FileInfo>> list(std::string_view path) const;
  Result<FileInfo> stat(std::string_view path) const;       // follows symbolic links
  Result<FileInfo> link_stat(std::string_view path) const;  // does not
  // EEXIST when anything is there, ENOENT when its parent is not.
  Result<void> make_directory(std::string_view path);
  // With its parents; one that is there is fine.
  Result<void> make_directories(std::string_view path);
  Result<void> remove(std::string_view path);  // a file, a link or an empty folder
  Result<void> remove_all(std::string_view path);
  Result<void> rename(std::string_view from, std::string_view to, IfThere there = IfThere::replace);
  Result<void> change_mode(std::string_view path, std::uint32_t mode);
  // EPERM where the sandbox's user may not.
  Result<void> change_owner(std::string_view path, std::uint32_t user, std::uint32_t group);
  // Follows symbolic links. Times are since 1970, UTC.
  Result<void> set_times(std::string_view path, std::int64_t accessed_ns, std::int64_t modified_ns);
  // Of what is there itself, a symbolic link too.
  Result<void> set_link_times(std::string_view path, std::int64_t accessed_ns,
                              std::int64_t modified_ns);
  Result<void> make_symlink(std::string_view target, std::string_view path);
  // One more name of what is there; EPERM for a directory, EXDEV from one file system to another.
  Result<void> make_link(std::string_view existing, std::string_view path);
  // Where a path leads, without symbolic links, "." and "..".
  Result<std::string> resolve(std::string_view path) const;
  // Extended attributes of the name space "user.": names with it. Follow symbolic links.
  Result<std::map<std::string, std::string>> attributes(std::string_view path) const;
  Result<void> set_attribute(std::string_view path, std::string_view name, std::string_view value);
  Result<void> remove_attribute(std::string_view path, std::string_view name);
  // '*', '?', '[...]', and '**' for any number of folders; sorted. EFBIG: the search has too much
  // to look at, or paths that are too long together.
  Result<std::vector<std::string>> glob(std::string_view pattern) const;
  // See cloche/folder_watch.h. Follows symbolic links. `changed` is called when there is something
  // to take, once until it is taken, from any thread: it must be quick, and call nothing of the
  // sandbox. ENOTSUP where changes are not told: folders of the host, what the kernel shows, and
  // the linux engine.
  Result<std::unique_ptr<FolderWatch>> watch(std::string_view path, WatchDepth depth,
                                             std::function<void()> changed) const;

 private:
  friend class Sandbox;
  Files(sandbox::FileBackend& files, std::shared_ptr<sandbox::Departure> departure)
      : files_(files), departure_(std::move(departure)) {}
  sandbox::FileBackend& files_;
  std::shared_ptr<sandbox::Departure> departure_;
};

}  // namespace cloche
