// SPDX-License-Identifier: Apache-2.0
// The words of the file system layer: what an inode is, who asks, what time it is.
// Everything here is a plain value.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace cloche::vfs {

// Number of an inode within its file system. Never 0, never reused within one file system and its
// forks.
using Ino = std::uint64_t;

enum class FileType : std::uint8_t { regular, directory, symlink, fifo, socket, character, block };

constexpr std::size_t name_max = 255;   // bytes in one name
constexpr std::size_t path_max = 4096;  // bytes in one path, with the terminating zero of C
constexpr unsigned symlinks_max = 40;   // symbolic links followed in one resolution
constexpr std::uint64_t file_size_max = (std::uint64_t{1} << 63) - 4096;

// Permission bits, as in chmod(2).
namespace mode {
constexpr std::uint32_t set_uid = 04000, set_gid = 02000, sticky = 01000, all = 07777;
}

// A point in time, UTC, 0 <= ns < 10^9.
struct Timestamp {
  std::int64_t s = 0;
  std::uint32_t ns = 0;
  friend auto operator<=>(const Timestamp&, const Timestamp&) = default;
};

// Where the time stamps of inodes come from. Called under the lock of the file system that it was
// given to.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Timestamp now() = 0;
};

// The host's CLOCK_REALTIME (the coarse one: a few nanoseconds a call, 4 ms steps). Thread-safe,
// never destroyed.
Clock& host_clock();

struct Stat {
  std::uint64_t dev = 0;  // number of the file system, see FileSystem::device
  Ino ino = 0;
  FileType type = FileType::regular;
  std::uint32_t mode = 0;  // permission bits only, 07777
  std::uint32_t nlink = 0;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint64_t rdev = 0;  // of a character or block device, see make_dev
  std::uint64_t size = 0;
  std::uint64_t blocks = 0;  // of 512 bytes
  std::uint32_t blksize = 4096;
  Timestamp atime, mtime, ctime, btime;
};

// Device numbers in Linux's encoding of userspace (as in struct stat).
constexpr std::uint64_t make_dev(std::uint32_t major, std::uint32_t minor) {
  return (std::uint64_t{major & 0xfffu} << 8) | (minor & 0xffu) |
         (std::uint64_t{minor & ~0xffu} << 12) | (std::uint64_t{major & ~0xfffu} << 32);
}
constexpr std::uint32_t dev_major(std::uint64_t dev) {
  return static_cast<std::uint32_t>(((dev >> 8) & 0xfff) | ((dev >> 32) & ~std::uint64_t{0xfff}));
}
constexpr std::uint32_t dev_minor(std::uint64_t dev) {
  return static_cast<std::uint32_t>((dev & 0xff) | ((dev >> 12) & ~std::uint64_t{0xff}));
}

// S_IFMT bits of a type, and back (nullopt for bits that name none).
std::uint32_t type_bits(FileType type);
std::optional<FileType> type_from_bits(std::uint32_t mode);

// Who asks. uid 0 passes every permission check: the host's own API uses it, a guest never has it.
struct Credentials {
  std::uint32_t uid = 1000;
  std::uint32_t gid = 1000;
  std::vector<std::uint32_t> groups = {};  // supplementary

  bool is_root() const { return uid == 0; }
  bool in_group(std::uint32_t id) const;
};
// The host itself.
const Credentials& root_credentials();

// What is asked of an inode: a set of read (4), write (2), execute or search (1), as in access(2).
enum class Access : std::uint8_t { none = 0, execute = 1, write = 2, read = 4, read_write = 6 };
constexpr Access operator|(Access a, Access b) {
  return static_cast<Access>(static_cast<std::uint8_t>(a) | static_cast<std::uint8_t>(b));
}
constexpr bool has(Access set, Access bit) {
  return (static_cast<std::uint8_t>(set) & static_cast<std::uint8_t>(bit)) != 0;
}

// What to change of an inode; an absent member stays. `size` truncates or extends.
struct SetAttr {
  std::optional<std::uint32_t> mode = {};
  std::optional<std::uint32_t> uid = {};
  std::optional<std::uint32_t> gid = {};
  std::optional<std::uint64_t> size = {};
  std::optional<Timestamp> atime = {};  // a caller that wants "now" asks its clock
  std::optional<Timestamp> mtime = {};
};

// One name of a directory. `next` is the cookie that continues after this entry; 0 starts.
// Cookies stay valid while the directory changes: an entry that is there all the time is seen
// exactly once.
struct DirEntry {
  Ino ino = 0;
  FileType type = FileType::regular;
  std::string_view name;  // valid during the callback
  std::uint64_t next = 0;
};

struct StatFs {
  std::uint64_t magic = 0;  // f_type, as Linux has it for a file system of this kind
  std::uint64_t block_size = 4096;
  std::uint64_t blocks = 0, blocks_free = 0;
  std::uint64_t inodes = 0, inodes_free = 0;
  bool read_only = false;
};

enum class RenameMode : std::uint8_t { replace, no_replace, exchange };

// Size of the content kept, whatever is allocated or punched beyond it.
enum class AllocateMode : std::uint8_t { grow, keep_size };

}  // namespace cloche::vfs
