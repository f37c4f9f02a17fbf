// SPDX-License-Identifier: Apache-2.0
// PathWalk: one resolution of a path. Internal to namespace.cc.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vfs/namespace.h"

namespace cloche::vfs {

// An inode on the way. No reference: nothing changes while a path is walked.
struct InodeAt {
  FileSystem* fs = nullptr;
  Ino ino = 0;
  friend bool operator==(const InodeAt&, const InodeAt&) = default;
};

// The mount over that directory or file, and the mount that shows that file system; nullptr when
// there is none.
const Mount* find_mount_on(const std::vector<Mount>& mounts, const InodeAt& place);
const Mount* find_mount_of(const std::vector<Mount>& mounts, const FileSystem* fs);

class PathWalk {
 public:
  // All arguments outlive this.
  PathWalk(const std::vector<Mount>& mounts, const Node& start, const Credentials& cred,
           std::uint32_t restrictions);

  Result<Resolved> run(std::string_view path, Follow follow);

 private:
  bool restricted(std::uint32_t bit) const { return (restrictions_ & bit) != 0; }
  Result<void> begin(std::string_view path);
  Result<void> step_up();
  Result<void> enter(InodeAt place);
  // Goes on with a link's text, or jumps where a magic link leads.
  Result<void> follow_link(const InodeAt& link, std::string_view rest);
  // From the link at_, which is that name in `parent`: nothing where there is more to walk.
  Result<std::optional<Resolved>> pass_link(const InodeAt& parent, std::string_view name,
                                            std::string_view rest);
  Result<Resolved> finish(const InodeAt& parent, std::string_view name, LastKind last);

  const std::vector<Mount>& mounts_;
  const Credentials& cred_;
  const std::uint32_t restrictions_;
  const InodeAt start_;
  const InodeAt root_;

  InodeAt at_;        // where the walk is
  Stat stat_;         // of at_
  Node held_;         // keeps what a magic link led to
  std::string text_;  // what is left to walk, once a link has been followed
  std::string_view path_;
  unsigned links_ = 0;
};

}  // namespace cloche::vfs
