// SPDX-License-Identifier: Apache-2.0
#include "kernel/process/process_files.h"

#include <algorithm>
#include <utility>

#include "kernel/files/node_file.h"
#include "kernel/kernel.h"

namespace cloche::kernel::process_files {
namespace {

using vfs::FileType;
using vfs::Follow;
using vfs::LastKind;

// The place that a call makes, removes or renames something in. A slash at the end asks for a
// directory, and no more: a last symbolic link is not followed for it.
Result<vfs::Resolved> place_of(Process& process, At at) REQUIRES(kernel_lock) {
  if (at.path.size() >= vfs::path_max) return Errno::nametoolong;
  const std::string_view whole = at.path;
  while (at.path.size() > 1 && at.path.back() == '/') at.path.remove_suffix(1);
  CLOCHE_ASSIGN(vfs::Resolved place, resolve(process, at, Follow::no));
  place.trailing_slash = whole.size() != at.path.size();
  return place;
}

// The place of something new: EEXIST when there is something. Only a directory's name may end in a
// slash.
Result<vfs::Resolved> new_place(Process& process, const At& at, FileType type)
    REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(vfs::Resolved place, place_of(process, at));
  if (place.target) return Errno::exist;
  if (place.trailing_slash && type != FileType::directory) return Errno::noent;
  return place;
}

// The place of something that is there, is no "." or "..", and is not covered by a mount.
Result<void> check_removable(const vfs::Resolved& place) {
  if (!place.target) return Errno::noent;
  if (&place.target->fs() != &place.parent.fs()) return Errno::busy;
  return {};
}

bool walks_from_descriptor(const At& at) {
  return at.path.empty() || at.path.front() != '/' ||
         (at.restrictions & (vfs::Resolve::beneath | vfs::Resolve::in_root)) != 0;
}

Result<FileType> type_of(const vfs::Node& node) {
  CLOCHE_ASSIGN(const vfs::Stat stat, node.stat());
  return FileType{stat.type};
}

}  // namespace

Acting::Acting(const Process& process) noexcept
    : kernel_(process.kernel()), outer_(std::exchange(process.kernel().acting_, &process)) {}

Acting::~Acting() { kernel_.acting_ = outer_; }

// --- Paths to nodes -----------------------------------------------------------------------------

Result<vfs::Node> start_of(Process& process, const At& at) {
  if (!walks_from_descriptor(at)) return process.kernel().files().root();
  if (at.dirfd == at_fdcwd) return vfs::Node(process.cwd);
  CLOCHE_ASSIGN(const FilePtr file, process.fds.get(at.dirfd));
  if (file->node() == nullptr) return Errno::notdir;
  CLOCHE_ASSIGN(const FileType type, type_of(*file->node()));
  if (type != FileType::directory) return Errno::notdir;
  return vfs::Node(*file->node());
}

Result<vfs::Resolved> resolve(Process& process, const At& at, Follow follow) {
  if (at.path.empty()) return Errno::noent;
  CLOCHE_ASSIGN(const vfs::Node start, start_of(process, at));
  const Acting acting(process);
  return process.kernel().files().resolve(start, at.path, follow, process.credentials,
                                          at.restrictions);
}

Result<vfs::Node> lookup(Process& process, const At& at, Follow follow, Empty empty) {
  if (at.path.empty()) {
    if (empty == Empty::refused) return Errno::noent;
    if (at.dirfd == at_fdcwd) return vfs::Node(process.cwd);
    return node_of(process, at.dirfd, PathOnly::allowed);
  }
  CLOCHE_ASSIGN(const vfs::Node start, start_of(process, at));
  const Acting acting(process);
  return process.kernel().files().lookup(start, at.path, follow, process.credentials,
                                         at.restrictions);
}

Result<std::string> path_of(Process& process, const vfs::Node& node) {
  const Acting acting(process);
  return process.kernel().files().path_of(node);
}

// --- Descriptors --------------------------------------------------------------------------------

namespace {

void give_up_locks(Process& process, const FilePtr& file) REQUIRES(kernel_lock) {
  if (process.kernel().locks().size() == 0) return;
  if (const auto* inode = dynamic_cast<const InodeFile*>(file.get())) {
    process.kernel().locks().process_closed(process.pid(), inode->lock_key());
  }
}

}  // namespace

Result<void> close(Process& process, std::int32_t fd) {
  CLOCHE_ASSIGN(const FilePtr file, process.fds.get(fd));
  give_up_locks(process, file);
  return process.fds.close(fd);
}

void close_range(Process& process, std::uint32_t first, std::uint32_t last) {
  if (process.kernel().locks().size() != 0) {
    for (const std::int32_t fd : process.fds.list()) {
      const auto number = static_cast<std::uint32_t>(fd);
      if (number >= first && number <= last) (void)close(process, fd);
    }
  }
  process.fds.close_range(first, last);
}

void close_for_exec(Process& process) {
  if (process.kernel().locks().size() != 0) {
    for (const std::int32_t fd : process.fds.list()) {
      if (const auto closes = process.fds.close_on_exec(fd); closes && *closes)
        (void)close(process, fd);
    }
  }
  process.fds.close_for_exec();
}

Result<void> install_at(Process& process, std::int32_t fd, FilePtr file, std::uint32_t flags) {
  if (const auto old = process.fds.get(fd); old && *old != file) give_up_locks(process, *old);
  return process.fds.install_at(fd, std::move(file), flags);
}

Result<vfs::Node> node_of(Process& process, std::int32_t fd, PathOnly path_only) {
  CLOCHE_ASSIGN(const FilePtr file, process.fds.get(fd));
  if ((file->flags() & o_path) != 0 && path_only == PathOnly::refused) return Errno::badf;
  if (file->node() == nullptr) return Errno::inval;
  return vfs::Node(*file->node());
}

// --- The tree -----------------------------------------------------------------------------------

Result<void> make_directory(Process& process, const At& at, std::uint32_t mode) {
  CLOCHE_ASSIGN(const vfs::Resolved place, new_place(process, at, FileType::directory));
  const std::uint32_t bits = mode & (0777 | vfs::mode::sticky) & ~process.umask;
  CLOCHE_TRY(vfs::create(place.parent, place.name, FileType::directory, bits, process.credentials));
  return {};
}

Result<vfs::Node> make_node(Process& process, const At& at, FileType type, std::uint32_t mode) {
  CLOCHE_ASSIGN(const vfs::Resolved place, new_place(process, at, type));
  return vfs::create(place.parent, place.name, type, mode & vfs::mode::all & ~process.umask,
                     process.credentials);
}

Result<void> make_node(Process& process, const At& at, std::uint32_t mode) {
  constexpr std::uint32_t type_mask = 0170000;
  FileType type = FileType::regular;
  if ((mode & type_mask) != 0) {
    const auto asked = vfs::type_from_bits(mode);
    if (!asked || *asked == FileType::symlink) return Errno::inval;
    type = *asked;
  }
  if (type == FileType::directory || type == FileType::character || type == FileType::block)
    return Errno::perm;
  CLOCHE_TRY(make_node(process, at, type, mode));
  return {};
}

Result<void> make_symlink(Process& process, std::string_view target, const At& at) {
  if (target.empty()) return Errno::noent;
  if (target.size() >= vfs::path_max) return Errno::nametoolong;
  CLOCHE_ASSIGN(const vfs::Resolved place, new_place(process, at, FileType::symlink));
  CLOCHE_TRY(vfs::symlink(place.parent, place.name, target, process.credentials));
  return {};
}

Result<void> link(Process& process, const At& existing, const At& name, Follow follow,
                  Empty empty) {
  CLOCHE_ASSIGN(const vfs::Node node, lookup(process, existing, follow, empty));
  CLOCHE_ASSIGN(const vfs::Resolved place, new_place(process, name, FileType::regular));
  if (&node.fs() != &place.parent.fs()) return Errno::xdev;
  return vfs::link(node, place.parent, place.name, process.credentials);
}

Result<void> unlink(Process& process, const At& at) {
  CLOCHE_ASSIGN(const vfs::Resolved place, place_of(process, at));
  if (place.last != LastKind::name) return Errno::isdir;
  if (!place.target) return Errno::noent;
  CLOCHE_ASSIGN(const FileType type, type_of(*place.target));
  if (type == FileType::directory) return Errno::isdir;
  if (place.trailing_slash) return Errno::notdir;
  CLOCHE_TRY(check_removable(place));
  return vfs::unlink(place.parent, place.name, process.credentials);
}

Result<void> remove_directory(Process& process, const At& at) {
  CLOCHE_ASSIGN(const vfs::Resolved place, place_of(process, at));
  switch (place.last) {
    case LastKind::dot: return Errno::inval;
    case LastKind::dot_dot: return Errno::notempty;
    case LastKind::root: return Errno::busy;
    case LastKind::name: break;
  }
  CLOCHE_TRY(check_removable(place));
  return vfs::rmdir(place.parent, place.name, process.credentials);
}

Result<void> rename(Process& process, const At& from, const At& to, vfs::RenameMode mode) {
  CLOCHE_ASSIGN(const vfs::Resolved old_place, place_of(process, from));
  CLOCHE_ASSIGN(const vfs::Resolved new_place, place_of(process, to));
  if (&old_place.parent.fs() != &new_place.parent.fs()) return Errno::xdev;
  if (old_place.last != LastKind::name) return Errno::busy;
  if (new_place.last != LastKind::name) {
    return mode == vfs::RenameMode::no_replace ? Errno::exist : Errno::busy;
  }
  CLOCHE_TRY(check_removable(old_place));
  if (new_place.target) {
    if (mode == vfs::RenameMode::no_replace) return Errno::exist;
    CLOCHE_TRY(check_removable(new_place));
  } else if (mode == vfs::RenameMode::exchange) {
    return Errno::noent;
  }
  CLOCHE_ASSIGN(const FileType type, type_of(*old_place.target));
  if (type != FileType::directory) {
    if (old_place.trailing_slash) return Errno::notdir;
    if (new_place.trailing_slash && mode != vfs::RenameMode::exchange) return Errno::notdir;
  }
  if (mode == vfs::RenameMode::exchange && new_place.trailing_slash) {
    CLOCHE_ASSIGN(const FileType other, type_of(*new_place.target));
    if (other != FileType::directory) return Errno::notdir;
  }
  return vfs::rename(old_place.parent, old_place.name, new_place.parent, new_place.name, mode,
                     process.credentials);
}

Result<std::string> read_link(Process& process, const At& at) {
  CLOCHE_ASSIGN(const vfs::Node node, lookup(process, at, Follow::no, Empty::descriptor));
  CLOCHE_ASSIGN(const FileType type, type_of(node));
  if (type != FileType::symlink) return at.path.empty() ? Errno::noent : Errno::inval;
  const Acting acting(process);
  return node.fs().readlink(node.ino());
}

Result<void> change_directory(Process& process, const At& at) {
  CLOCHE_ASSIGN(vfs::Node node, lookup(process, at, Follow::yes));
  CLOCHE_ASSIGN(const vfs::Stat stat, node.stat());
  if (stat.type != FileType::directory) return Errno::notdir;
  CLOCHE_TRY(vfs::check_access(stat, process.credentials, vfs::Access::execute));
  process.cwd = std::move(node);
  return {};
}

Result<void> change_directory(Process& process, std::int32_t fd) {
  CLOCHE_ASSIGN(const FilePtr file, process.fds.get(fd));
  if (file->node() == nullptr) return Errno::notdir;
  CLOCHE_ASSIGN(const vfs::Stat stat, file->node()->stat());
  if (stat.type != FileType::directory) return Errno::notdir;
  CLOCHE_TRY(vfs::check_access(stat, process.credentials, vfs::Access::execute));
  process.cwd = *file->node();
  return {};
}

Result<std::string> current_directory(Process& process) { return path_of(process, process.cwd); }

// --- Attributes ---------------------------------------------------------------------------------

Result<vfs::Stat> stat(Process& process, const At& at, Follow follow, Empty empty) {
  if (at.path.empty() && empty == Empty::descriptor && at.dirfd != at_fdcwd)
    return stat(process, at.dirfd);
  CLOCHE_ASSIGN(const vfs::Node node, lookup(process, at, follow, empty));
  const Acting acting(process);
  return node.stat();
}

Result<vfs::Stat> stat(Process& process, std::int32_t fd) {
  CLOCHE_ASSIGN(const FilePtr file, process.fds.get(fd));
  return file->stat();
}

Result<void> access(Process& process, const At& at, vfs::Access wanted, Follow follow,
                    Empty empty) {
  CLOCHE_ASSIGN(const vfs::Node node, lookup(process, at, follow, empty));
  if (wanted == vfs::Access::none) return {};
  return vfs::check_access(node, process.credentials, wanted);
}

Result<void> change_mode(Process& process, const vfs::Node& node, std::uint32_t mode) {
  CLOCHE_ASSIGN(const FileType type, type_of(node));
  if (type == FileType::symlink) return Errno::notsup;
  return vfs::chmod(node, mode & vfs::mode::all, process.credentials);
}

Result<void> change_owner(Process& process, const vfs::Node& node, std::uint32_t uid,
                          std::uint32_t gid) {
  const auto id = [](std::uint32_t given) {
    return given == ~std::uint32_t{0} ? std::nullopt : std::optional<std::uint32_t>(given);
  };
  return vfs::chown(node, id(uid), id(gid), process.credentials);
}

Result<void> set_times(Process& process, const vfs::Node& node, const vfs::TimeChange& atime,
                       const vfs::TimeChange& mtime) {
  return vfs::set_times(node, atime, mtime, vfs::host_clock().now(), process.credentials);
}

Result<void> truncate(Process& process, const At& at, std::uint64_t size) {
  CLOCHE_ASSIGN(const vfs::Node node, lookup(process, at, Follow::yes));
  CLOCHE_ASSIGN(const vfs::Stat stat, node.stat());
  if (stat.type == FileType::directory) return Errno::isdir;
  if (stat.type != FileType::regular) return Errno::inval;
  if (size > vfs::file_size_max) return Errno::fbig;
  if (size > stat.size) {
    CLOCHE_TRY(vfs::check_access(node, process.credentials, vfs::Access::write));
    CLOCHE_ASSIGN(const std::uint64_t room,
                  within_file_limit(process, stat.size, size - stat.size));
    if (room != size - stat.size) return Errno::fbig;
  }
  return vfs::truncate(node, size, process.credentials);
}

Result<void> truncate(Process& process, std::int32_t fd, std::uint64_t size) {
  CLOCHE_ASSIGN(const FilePtr file, process.fds.get(fd));
  if ((file->flags() & o_path) != 0) return Errno::badf;
  auto* node_file = dynamic_cast<NodeFile*>(file.get());
  if (node_file == nullptr) return Errno::inval;
  return node_file->truncate(process, size);
}

// --- Limits -------------------------------------------------------------------------------------

Result<std::uint64_t> within_file_limit(Process& process, std::uint64_t offset,
                                        std::uint64_t size) {
  const std::uint64_t limit = std::min(process.limits[rlimit_fsize].soft, vfs::file_size_max);
  if (size == 0) return std::uint64_t{0};
  if (offset < limit) return std::min(size, limit - offset);
  if (limit < vfs::file_size_max) {
    CLOCHE_TRY(process.kernel().post(process, SignalInfo{.signo = sigxfsz, .code = si_kernel}));
  }
  return Errno::fbig;
}

}  // namespace cloche::kernel::process_files
