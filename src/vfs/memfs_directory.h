// SPDX-License-Identifier: Apache-2.0
// Directory: the names of one MemFs directory, in the order in which they were made.
//
// Flat: an array of entries sorted by cookie, the names in one string, and a hash index once there
// are more than a few. So cloning is three copies, destroying touches no other node, and a reader's
// cookie (the number that an entry got when it was added, never given out twice) finds its place by
// binary search whatever was removed.
#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "vfs/types.h"

namespace cloche::vfs::memfs {

struct Entry {
  Ino ino = 0;  // 0: removed
  std::uint64_t cookie = 0;
  std::uint32_t hash = 0;
  std::uint32_t name_at = 0;
  std::uint8_t name_size = 0;
  FileType type = FileType::regular;
  bool charged = false;  // costs its owner one inode of quota
  bool graft = false;    // leads into a frozen tree
};

class Directory {
 public:
  static constexpr std::uint64_t first_cookie = 3;  // 1 and 2 continue after "." and ".."

  static Directory* clone(const Directory& other) { return new Directory(other); }
  static void destroy(Directory* dir) noexcept { delete dir; }
  Directory() = default;

  std::size_t size() const { return live_; }
  std::string_view name(const Entry& entry) const {
    return std::string_view(names_).substr(entry.name_at, entry.name_size);
  }

  const Entry* find(std::string_view name) const;
  // The entry that was added with that cookie, if it is still there.
  const Entry* at_cookie(std::uint64_t cookie) const;
  // The first entry with a cookie >= `cookie`, or nullptr.
  const Entry* next(std::uint64_t cookie) const;

  // Whether another name still fits (the names of one directory are 4 GiB at most).
  bool has_room(std::size_t name_size) const;
  // Adds a name that is not there; returns its cookie. Pointers to entries are not valid after it,
  // nor after remove.
  std::uint64_t add(std::string_view name, Entry entry);
  void remove(std::string_view name);
  // Lets an entry that is there lead elsewhere; its name and cookie stay. Returns the cookie.
  std::uint64_t replace(std::string_view name, Ino ino, FileType type, bool charged);

  std::atomic<std::uint32_t> refs{1};

 private:
  Directory(const Directory& other)
      : entries_(other.entries_),
        names_(other.names_),
        index_(other.index_),
        next_cookie_(other.next_cookie_),
        live_(other.live_),
        index_used_(other.index_used_) {}

  std::size_t position(std::string_view name) const;  // entries_.size() when absent
  void compact();
  void build_index();
  void index_add(std::size_t position);

  std::vector<Entry> entries_;
  std::string names_;
  std::vector<std::uint32_t>
      index_;  // position + 1, 0 empty; linear probing; a removed entry's slot stays
  std::uint64_t next_cookie_ = first_cookie;
  std::size_t live_ = 0;
  std::size_t index_used_ = 0;
};

}  // namespace cloche::vfs::memfs
