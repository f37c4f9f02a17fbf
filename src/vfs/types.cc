// SPDX-License-Identifier: Apache-2.0
#include "vfs/types.h"

#include <sys/stat.h>
#include <time.h>

#include <algorithm>

namespace cloche::vfs {
namespace {

class HostClock final : public Clock {
 public:
  Timestamp now() override {
    timespec t{};
    ::clock_gettime(CLOCK_REALTIME_COARSE, &t);
    return {t.tv_sec, static_cast<std::uint32_t>(t.tv_nsec)};
  }
};

}  // namespace

Clock& host_clock() {
  static HostClock clock;
  return clock;
}

std::uint32_t type_bits(FileType type) {
  switch (type) {
    case FileType::regular: return S_IFREG;
    case FileType::directory: return S_IFDIR;
    case FileType::symlink: return S_IFLNK;
    case FileType::fifo: return S_IFIFO;
    case FileType::socket: return S_IFSOCK;
    case FileType::character: return S_IFCHR;
    case FileType::block: return S_IFBLK;
  }
  return 0;
}

std::optional<FileType> type_from_bits(std::uint32_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG: return FileType::regular;
    case S_IFDIR: return FileType::directory;
    case S_IFLNK: return FileType::symlink;
    case S_IFIFO: return FileType::fifo;
    case S_IFSOCK: return FileType::socket;
    case S_IFCHR: return FileType::character;
    case S_IFBLK: return FileType::block;
    default: return std::nullopt;
  }
}

bool Credentials::in_group(std::uint32_t id) const {
  return gid == id || std::ranges::find(groups, id) != groups.end();
}

const Credentials& root_credentials() {
  static const Credentials root{.uid = 0, .gid = 0};
  return root;
}

}  // namespace cloche::vfs
