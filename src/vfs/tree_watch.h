// SPDX-License-Identifier: Apache-2.0
// TreeWatch: what changes in a directory, or anywhere below it, from when the watch is made: names
// that come and go, content, attributes; whoever it is that changes them.
//
// It hears of what is done in the file system of its directory alone: not of what is mounted below,
// and not of what the host does to a folder of its own. A file with several names changes under the
// one that it got last. Forks are watched by nobody.
//
// What nobody takes is bounded: beyond pending_max_bytes all of it is dropped, and the next take()
// says so. Not thread-safe: under the kernel's lock, the destructor too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "vfs/filesystem.h"

namespace cloche::vfs {

struct PathChange {
  ChangeKind kind;
  std::string path;  // from the directory; "." is the directory itself
  friend bool operator==(const PathChange&, const PathChange&) = default;
};

class TreeWatch {
 public:
  enum class Depth : std::uint8_t { directory, tree };

  // Of `pending_max_bytes` each change takes its path and sizeof(PathChange).
  static constexpr std::size_t pending_max_bytes = 512 << 10;
  // What is further down, or has a longer path than path_max, is not told.
  static constexpr std::size_t levels_max = 256;

  // ENOTDIR; ENOTSUP where the file system does not tell of changes. `changed` is called when there
  // is something to take, once until it is taken: under the kernel's lock, so it must be quick and
  // call nothing of the sandbox.
  static Result<std::unique_ptr<TreeWatch>> make(Node directory, Depth depth,
                                                 std::function<void()> changed);
  ~TreeWatch();
  TreeWatch(const TreeWatch&) = delete;
  TreeWatch& operator=(const TreeWatch&) = delete;

  // What has come since the last call, in order; a change that is repeated is there once.
  // EOVERFLOW: there was too much; what comes from now on is kept again.
  Result<std::vector<PathChange>> take();
  // The directory has been removed: after what is left to take nothing comes.
  bool is_over() const { return over_; }

 private:
  friend class FileSystem;
  TreeWatch(Node directory, Depth depth, std::function<void()> changed);
  void hear(const Change& change);
  // False: that place is not watched.
  bool path_below(Ino dir, std::string_view name, std::string& path) const;
  void keep(ChangeKind kind, std::string path);

  const Node directory_;
  const Depth depth_;
  const std::function<void()> changed_;
  std::vector<PathChange> pending_;
  std::size_t pending_bytes_ = 0;
  bool told_ = false;        // `changed` has been called for what is pending
  bool overflowed_ = false;  // and nothing is kept until that is taken
  bool over_ = false;
};

}  // namespace cloche::vfs
