// SPDX-License-Identifier: Apache-2.0
// GuestFolders: the folders of this machine that guests may write to, because they were mounted,
// and how a path of the machine is followed that leads through one. A guest may put a link into
// such a folder, in the place of a file or of a folder on the way: followed as the kernel does, it
// would name what is mounted next, or where a file is written, anywhere on this machine. So a link
// in one leads to what is in that folder, or is refused. Links elsewhere are the user's, and are
// followed.
//
// A path is followed once, step by step from descriptors that are held: what is moved or replaced
// meanwhile leads nowhere else. Thread-safe.
#pragma once

#include <compare>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/host_error.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace cloche {

// Where a path leads. Descriptors are O_PATH.
struct HostPlace {
  UniqueFd folder;   // of the last name
  std::string name;  // the last name; "" where the path ends in a folder without saying its name
  UniqueFd found;    // what is there; none: nothing
  // By which the place is reached as long as this lives, wherever its folder is moved.
  std::string path() const;
};

class GuestFolders {
 public:
  enum class LastLink : std::uint8_t { followed, kept };

  GuestFolders() = default;
  GuestFolders(const GuestFolders&) = delete;
  GuestFolders& operator=(const GuestFolders&) = delete;

  // From now on for good; 32 bytes each. Nothing where it is no folder or cannot be opened.
  void add(const std::string& path);

  // An error with the errno of what is missing or refused on the way; EACCES for a link that a
  // guest may have made and that leads out of its folder.
  Result<HostPlace, HostError> find(const std::string& path, LastLink last) const;
  // Of what is there.
  Result<UniqueFd, HostError> open(const std::string& path) const;

 private:
  class Walk;
  // Not the number alone: that of a folder which is gone is another one's later.
  struct Identity {
    std::uint64_t device = 0, inode = 0, made_ns = 0;
    auto operator<=>(const Identity&) const = default;
  };
  static Identity identity_of(int fd);
  bool has(int fd) const;

  mutable Mutex mutex_;
  std::set<Identity> known_ GUARDED_BY(mutex_);
};

// Those of this process. Never destroyed.
GuestFolders& guest_folders();

}  // namespace cloche
