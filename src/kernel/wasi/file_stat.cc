// SPDX-License-Identifier: Apache-2.0
#include "kernel/wasi/file_stat.h"

#include "kernel/files/node_file.h"
#include "kernel/sockets/socket.h"

namespace cloche::kernel::wasi {
namespace {

constexpr Rights read_rights = right_fd_read | right_fd_readdir;
constexpr Rights write_rights =
    right_fd_write | right_fd_datasync | right_fd_allocate | right_fd_filestat_set_size;
constexpr Rights position_rights = right_fd_seek | right_fd_tell;
constexpr Rights path_rights =
    right_path_create_directory | right_path_create_file | right_path_link_source |
    right_path_link_target | right_path_open | right_path_readlink | right_path_rename_source |
    right_path_rename_target | right_path_filestat_get | right_path_filestat_set_size |
    right_path_filestat_set_times | right_path_symlink | right_path_remove_directory |
    right_path_unlink_file;
constexpr Rights socket_rights = right_sock_shutdown | right_sock_accept;

std::uint64_t nanoseconds(const vfs::Timestamp& time) {
  constexpr std::uint64_t per_second = 1'000'000'000;
  constexpr std::uint64_t last = ~std::uint64_t{0} / per_second - 1;
  if (time.s < 0) return 0;
  const auto seconds = static_cast<std::uint64_t>(time.s);
  return seconds > last ? ~std::uint64_t{0} : seconds * per_second + time.ns;
}

vfs::TimeChange time_change(std::uint64_t ns, std::uint32_t fstflags, std::uint32_t at,
                            std::uint32_t now) {
  constexpr std::uint64_t per_second = 1'000'000'000;
  if ((fstflags & now) != 0) return {vfs::TimeChange::Kind::now, {}};
  if ((fstflags & at) == 0) return {};
  return {
      vfs::TimeChange::Kind::at,
      {static_cast<std::int64_t>(ns / per_second), static_cast<std::uint32_t>(ns % per_second)}};
}

}  // namespace

FileType file_type(vfs::FileType type) {
  switch (type) {
    case vfs::FileType::regular: return filetype_regular_file;
    case vfs::FileType::directory: return filetype_directory;
    case vfs::FileType::symlink: return filetype_symbolic_link;
    case vfs::FileType::fifo:
    case vfs::FileType::socket: return filetype_socket_stream;
    case vfs::FileType::character: return filetype_character_device;
    case vfs::FileType::block: return filetype_block_device;
  }
  return filetype_unknown;
}

FileType file_type(const File& file, const vfs::Stat& stat) {
  if (stat.type == vfs::FileType::regular && dynamic_cast<const NodeFile*>(&file) == nullptr)
    return filetype_unknown;
  const auto* socket = dynamic_cast<const Socket*>(&file);
  return socket != nullptr && socket->type() == SocketType::datagram ? filetype_socket_dgram
                                                                     : file_type(stat.type);
}

FileStat file_stat(const vfs::Stat& stat) {
  FileStat out;
  out.dev = stat.dev;
  out.ino = stat.ino;
  out.filetype = file_type(stat.type);
  out.nlink = stat.nlink;
  out.size = stat.size;
  out.atim_ns = nanoseconds(stat.atime);
  out.mtim_ns = nanoseconds(stat.mtime);
  out.ctim_ns = nanoseconds(stat.ctime);
  return out;
}

Rights rights_of(const File& file, const vfs::Stat& stat) {
  Rights rights = rights_all;
  if (!file.readable()) rights &= ~read_rights;
  if (!file.writable()) rights &= ~write_rights;
  const bool socket = stat.type == vfs::FileType::socket;
  if (!socket) rights &= ~socket_rights;
  if (socket || stat.type == vfs::FileType::fifo || file.is_terminal()) rights &= ~position_rights;
  if (stat.type == vfs::FileType::directory) {
    rights &= ~(write_rights | position_rights | right_fd_read);
  } else {
    rights &= ~(path_rights | right_fd_readdir);
  }
  return rights;
}

Rights rights_inherited(const vfs::Stat& stat) {
  return stat.type == vfs::FileType::directory ? rights_all : 0;
}

std::uint32_t open_flags_of(std::uint32_t fdflags) {
  std::uint32_t flags = 0;
  if ((fdflags & fdflag_append) != 0) flags |= o_append;
  if ((fdflags & fdflag_nonblock) != 0) flags |= o_nonblock;
  if ((fdflags & fdflag_dsync) != 0) flags |= o_dsync;
  if ((fdflags & (fdflag_rsync | fdflag_sync)) != 0) flags |= o_sync;
  return flags;
}

std::uint16_t fdflags_of(std::uint32_t open_flags) {
  std::uint32_t flags = 0;
  if ((open_flags & o_append) != 0) flags |= fdflag_append;
  if ((open_flags & o_nonblock) != 0) flags |= fdflag_nonblock;
  if ((open_flags & o_dsync) != 0) flags |= fdflag_dsync;
  if ((open_flags & o_sync) == o_sync) flags |= fdflag_rsync | fdflag_sync;
  return static_cast<std::uint16_t>(flags);
}

Result<TimeChanges> time_changes(std::uint64_t atim_ns, std::uint64_t mtim_ns,
                                 std::uint32_t fstflags) {
  constexpr std::uint32_t both_atim = fstflag_atim | fstflag_atim_now;
  constexpr std::uint32_t both_mtim = fstflag_mtim | fstflag_mtim_now;
  if ((fstflags & ~fstflags_all) != 0) return Errno::inval;
  if ((fstflags & both_atim) == both_atim || (fstflags & both_mtim) == both_mtim)
    return Errno::inval;
  return TimeChanges{time_change(atim_ns, fstflags, fstflag_atim, fstflag_atim_now),
                     time_change(mtim_ns, fstflags, fstflag_mtim, fstflag_mtim_now)};
}

}  // namespace cloche::kernel::wasi
