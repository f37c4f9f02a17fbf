// SPDX-License-Identifier: Apache-2.0
// GuestFolders: the folders of this machine that guests may write to, because they were mounted,
// and how a path of the machine is followed that leads through one. A guest may put a link into
// such a folder, in the place of a file or of a folder on the way: followed as the kernel does, it
// would name what is mounted next, or where a file is written, anywhere on this machine. So a link
// in one leads to what is in that folder, or is refused. Links elsewhere are the user's, and are
// followed. What a guest has put there stays when its sandbox has ended, and this process too: so
// the folders are kept in a file of the user's, which all processes of Cloche read.
//
// A path is followed once, step by step from descriptors that are held: what is moved or replaced
// meanwhile leads nowhere else. Thread-safe.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
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
  bool is_guests = false;  // guests may have put there what is found: a pipe, too
  // By which the place is reached as long as this lives, wherever its folder is moved.
  std::string path() const;
};

class GuestFolders {
 public:
  enum class LastLink : std::uint8_t { followed, kept };

  GuestFolders() = default;
  GuestFolders(const GuestFolders&) = delete;
  GuestFolders& operator=(const GuestFolders&) = delete;

  // Those that are kept in `file` count, too, also what other processes add to it. Of more than
  // most_kept the first are forgotten. A file that is not there is made once its folder is; one
  // that cannot be read or written is left alone.
  void keep_in(std::string file);
  static constexpr std::size_t most_kept = 65'536;

  // From now on for good; some 60 bytes each. Nothing where it is no folder or cannot be opened,
  // as find() says.
  void add(const std::string& path);
  // The same, and for other processes and later ones: it is mounted now.
  void add_and_keep(const std::string& path);

  // An error with the errno of what is missing or refused on the way; EACCES for a link that a
  // guest may have made and that leads out of its folder.
  Result<HostPlace, HostError> find(const std::string& path, LastLink last) const;
  // Of what is there.
  Result<UniqueFd, HostError> open(const std::string& path) const;
  // The same, to be read: open_to_read() of where it leads.
  Result<UniqueFd, HostError> open_to_read(const std::string& path, int flags = 0) const;

 private:
  class Walk;
  // Not the number alone: that of a folder which is gone is another one's later. The file system's
  // by its own name where it has one, which outlives a restart of the machine.
  struct Identity {
    std::uint64_t system = 0, inode = 0, made_ns = 0;
    auto operator<=>(const Identity&) const = default;
  };
  static Identity identity_of(int fd);
  bool has(int fd) const;
  void read_kept() const;
  Identity identity_at(const std::string& path) const;
  bool write_kept(const Identity& identity) REQUIRES(mutex_);

  mutable Mutex mutex_;
  mutable std::map<Identity, bool> known_ GUARDED_BY(mutex_);  // and whether the file has it
  std::string file_ GUARDED_BY(mutex_);                        // empty: none
  // Of the file what has been read.
  mutable std::uint64_t read_inode_ GUARDED_BY(mutex_) = 0;
  mutable std::uint64_t read_bytes_ GUARDED_BY(mutex_) = 0;
};

// Of what is found in such a folder and is no file: who waits for a pipe waits for a guest.
HostError pipe_of_guests(const std::string& what);

// What is found there, to be read, with `flags` of open(2) beside: that of a person's own pipe may
// wait for who writes it. EACCES where guests may have put there what is neither a file nor a
// folder.
Result<UniqueFd, HostError> open_to_read(const HostPlace& place, const std::string& path,
                                         int flags = 0);

// Those of this process. Never destroyed.
GuestFolders& guest_folders();

}  // namespace cloche
