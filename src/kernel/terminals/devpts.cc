// SPDX-License-Identifier: Apache-2.0
#include "kernel/terminals/devpts.h"

#include <charconv>

#include "kernel/files/devices.h"
#include "kernel/terminals/terminal.h"
#include "kernel/terminals/terminal_table.h"

namespace cloche::kernel {

DevPts::DevPts(const TerminalTable& terminals)
    : ComputedFs(nullptr), terminals_(&terminals), made_(vfs::host_clock().now()) {}

bool DevPts::is_slave(vfs::Ino ino) const {
  return terminals_ != nullptr && ino >= first_slave_ino &&
         ino - first_slave_ino < TerminalTable::max_terminals &&
         terminals_->find(static_cast<std::uint32_t>(ino - first_slave_ino)) != nullptr;
}

Result<vfs::Ino> DevPts::lookup(vfs::Ino dir, std::string_view name) {
  if (dir != root_ino) return Errno::notdir;
  if (name == "ptmx") return vfs::Ino{ptmx_ino};
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool canonical =
      error == std::errc{} && end == name.data() + name.size() && (name == "0" || name[0] != '0');
  if (!canonical || !is_slave(first_slave_ino + number)) return Errno::noent;
  return vfs::Ino{first_slave_ino + number};
}

Result<vfs::FileSystem::Location> DevPts::locate(vfs::Ino ino) {
  if (ino == root_ino) return Errno::inval;
  if (ino == ptmx_ino) return Location{root_ino, "ptmx"};
  if (!is_slave(ino)) return Errno::noent;
  return Location{root_ino, std::to_string(ino - first_slave_ino)};
}

Result<vfs::Stat> DevPts::stat(vfs::Ino ino) {
  vfs::Stat stat;
  stat.dev = device();
  stat.ino = ino;
  stat.nlink = 1;
  stat.atime = stat.mtime = stat.ctime = stat.btime = made_;
  if (ino == root_ino) {
    stat.type = vfs::FileType::directory;
    stat.mode = 0755;
    stat.nlink = 2;
    return stat;
  }
  stat.type = vfs::FileType::character;
  if (ino == ptmx_ino) {
    stat.mode = 0666;
    stat.rdev = device::ptmx;
    return stat;
  }
  // A terminal that is gone is still what its open descriptors refer to.
  if (ino < first_slave_ino) return Errno::noent;
  stat.mode = 0620;
  stat.uid = vfs::Credentials{}.uid;
  stat.gid = vfs::Credentials{}.gid;
  stat.rdev = vfs::make_dev(device::pts_major, static_cast<std::uint32_t>(ino - first_slave_ino));
  stat.blksize = 1024;
  return stat;
}

Result<void> DevPts::set_attr(vfs::Ino ino, const vfs::SetAttr& attr) {
  if (!is_slave(ino) || attr.size) return Errno::perm;
  return {};
}

vfs::StatFs DevPts::statfs() {
  vfs::StatFs stat;
  stat.magic = 0x1cd1;
  return stat;
}

Result<void> DevPts::list(vfs::Ino dir, std::uint64_t cookie, const vfs::DirSink& sink) {
  if (dir != root_ino) return Errno::notdir;
  if (cookie < first_cookie && !sink({ptmx_ino, vfs::FileType::character, "ptmx", first_cookie}))
    return {};
  if (terminals_ == nullptr) return {};
  for (const std::uint32_t number : terminals_->numbers()) {
    const std::uint64_t own = first_cookie + 1 + number;
    if (own <= cookie) continue;
    const std::string name = std::to_string(number);
    if (!sink({first_slave_ino + number, vfs::FileType::character, name, own})) return {};
  }
  return {};
}

}  // namespace cloche::kernel
