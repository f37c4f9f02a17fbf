// SPDX-License-Identifier: Apache-2.0
// HostFs: changes of the folder. Each acts in a directory that is open and checked, on one name
// without slashes, and never follows a link.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "vfs/hostfs_impl.h"

namespace cloche::vfs {
namespace {

timespec host_time(const std::optional<Timestamp>& time) {
  if (!time) return {0, UTIME_OMIT};
  return {time->s, static_cast<long>(time->ns)};
}

}  // namespace

Result<void> HostFs::set_attr(Ino ino, const SetAttr& attr) {
  CLOCHE_TRY(impl_->check_writable());
  CLOCHE_ASSIGN(const auto at, impl_->open(ino));
  if ((attr.uid && *attr.uid != impl_->options.uid) ||
      (attr.gid && *attr.gid != impl_->options.gid)) {
    return Errno::perm;
  }
  if (attr.size) {
    if (S_ISDIR(at.st.stx_mode)) return Errno::isdir;
    if (!S_ISREG(at.st.stx_mode)) return Errno::inval;
    if (*attr.size > file_size_max) return Errno::fbig;
    CLOCHE_ASSIGN(const UniqueFd fd, Impl::reopen(at.fd, O_WRONLY));
    if (::ftruncate(fd.get(), static_cast<off_t>(*attr.size)) != 0) return last_error();
  }
  if (attr.mode) {
    if (!S_ISREG(at.st.stx_mode) && !S_ISDIR(at.st.stx_mode)) return Errno::perm;
    if (::chmod(descriptor_path(at.fd).c_str(), *attr.mode & 0777u) != 0) return last_error();
  }
  if (attr.atime || attr.mtime) {
    const timespec times[2] = {host_time(attr.atime), host_time(attr.mtime)};
    if (ino == impl_->root_ino || !S_ISLNK(at.st.stx_mode)) {
      if (::utimensat(AT_FDCWD, descriptor_path(at.fd).c_str(), times, 0) != 0) return last_error();
    } else {
      const Impl::Entry& entry = impl_->entries.at(ino);
      CLOCHE_ASSIGN(const auto dir, impl_->open_directory(entry.parent));
      if (::utimensat(dir.fd.get(), entry.name.c_str(), times, AT_SYMLINK_NOFOLLOW) != 0) {
        return last_error();
      }
    }
  }
  return {};
}

Result<Ino> HostFs::create(Ino dir, std::string_view name, const NewNode& node) {
  CLOCHE_TRY(impl_->check_writable());
  CLOCHE_TRY(check_name(name));
  CLOCHE_ASSIGN(const auto at, impl_->open_directory(dir));
  const std::string text(name);
  const mode_t mode = node.mode & 0777u;
  if (node.type == FileType::directory) {
    if (::mkdirat(at.fd.get(), text.c_str(), mode) != 0) return last_error();
  } else if (node.type == FileType::regular) {
    const int flags = O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY;
    const UniqueFd fd(::openat(at.fd.get(), text.c_str(), flags, mode));
    if (!fd) return last_error();
    // The host's umask is not the guest's.
    if (::fchmod(fd.get(), mode) != 0) return last_error();
  } else {
    return Errno::perm;
  }
  CLOCHE_ASSIGN(const auto st, host_stat(at.fd.get(), text.c_str()));
  CLOCHE_ASSIGN(const Ino ino, impl_->remember(dir, name, st));
  if (node.type == FileType::directory) CLOCHE_TRY(set_attr(ino, {.mode = mode}));
  return ino;
}

Result<Ino> HostFs::symlink(Ino dir, std::string_view name, std::string_view target,
                            const NewNode&) {
  CLOCHE_TRY(impl_->check_writable());
  CLOCHE_TRY(check_name(name));
  if (target.empty()) return Errno::noent;
  if (target.size() >= path_max) return Errno::nametoolong;
  if (target.find('\0') != target.npos) return Errno::inval;
  CLOCHE_ASSIGN(const auto at, impl_->open_directory(dir));
  const std::string text(name);
  if (::symlinkat(std::string(target).c_str(), at.fd.get(), text.c_str()) != 0) return last_error();
  CLOCHE_ASSIGN(const auto st, host_stat(at.fd.get(), text.c_str()));
  return impl_->remember(dir, name, st);
}

Result<void> HostFs::link(Ino ino, Ino dir, std::string_view name) {
  CLOCHE_TRY(impl_->check_writable());
  CLOCHE_TRY(check_name(name));
  CLOCHE_ASSIGN(const auto from, impl_->open(ino));
  if (S_ISDIR(from.st.stx_mode)) return Errno::perm;
  const Impl::Entry& entry = impl_->entries.at(ino);
  CLOCHE_ASSIGN(const auto from_dir, impl_->open_directory(entry.parent));
  CLOCHE_ASSIGN(const auto to, impl_->open_directory(dir));
  if (::linkat(from_dir.fd.get(), entry.name.c_str(), to.fd.get(), std::string(name).c_str(), 0) !=
      0) {
    return last_error();
  }
  return {};
}

Result<void> HostFs::unlink(Ino dir, std::string_view name) {
  CLOCHE_TRY(impl_->check_writable());
  CLOCHE_TRY(check_name(name));
  CLOCHE_ASSIGN(const auto at, impl_->open_directory(dir));
  const std::string text(name);
  CLOCHE_ASSIGN(const auto st, host_stat(at.fd.get(), text.c_str()));
  if (S_ISDIR(st.stx_mode)) return Errno::isdir;
  if (::unlinkat(at.fd.get(), text.c_str(), 0) != 0) return last_error();
  impl_->forget_place(dir, name, st);
  return {};
}

Result<void> HostFs::rmdir(Ino dir, std::string_view name) {
  CLOCHE_TRY(impl_->check_writable());
  CLOCHE_TRY(check_name(name));
  CLOCHE_ASSIGN(const auto at, impl_->open_directory(dir));
  const std::string text(name);
  CLOCHE_ASSIGN(const auto st, host_stat(at.fd.get(), text.c_str()));
  if (!S_ISDIR(st.stx_mode)) return Errno::notdir;
  if (::unlinkat(at.fd.get(), text.c_str(), AT_REMOVEDIR) != 0) return last_error();
  impl_->forget_place(dir, name, st);
  return {};
}

Result<void> HostFs::rename(Ino old_dir, std::string_view old_name, Ino new_dir,
                            std::string_view new_name, RenameMode mode) {
  CLOCHE_TRY(impl_->check_writable());
  CLOCHE_TRY(check_name(old_name));
  CLOCHE_TRY(check_name(new_name));
  CLOCHE_ASSIGN(const auto from, impl_->open_directory(old_dir));
  CLOCHE_ASSIGN(const auto to, impl_->open_directory(new_dir));
  const std::string from_text(old_name), to_text(new_name);
  CLOCHE_ASSIGN(const auto moved, host_stat(from.fd.get(), from_text.c_str()));
  const auto replaced = host_stat(to.fd.get(), to_text.c_str());
  // The host may put something there in the next moment.
  if (!replaced && mode == RenameMode::exchange) return replaced.error();
  const unsigned flags = mode == RenameMode::no_replace ? RENAME_NOREPLACE
                         : mode == RenameMode::exchange ? RENAME_EXCHANGE
                                                        : 0u;
  int done = ::renameat2(from.fd.get(), from_text.c_str(), to.fd.get(), to_text.c_str(), flags);
  // Some file systems cannot promise that nothing is there: then it has been looked at before.
  if (done != 0 && errno == EINVAL && mode == RenameMode::no_replace) {
    if (replaced) return Errno::exist;
    done = ::renameat2(from.fd.get(), from_text.c_str(), to.fd.get(), to_text.c_str(), 0);
  }
  if (done != 0) return last_error();
  const bool same = replaced && replaced->stx_ino == moved.stx_ino &&
                    Impl::device_of(*replaced) == Impl::device_of(moved);
  if (same) return {};
  if (replaced) impl_->forget_place(new_dir, new_name, *replaced);
  CLOCHE_TRY(impl_->remember(new_dir, new_name, moved));
  if (mode == RenameMode::exchange) CLOCHE_TRY(impl_->remember(old_dir, old_name, *replaced));
  return {};
}

// Where nothing can be written nothing is to be waited for, and others' disk is left alone.
Result<void> HostFs::sync() {
  if (read_only()) return {};
  CLOCHE_ASSIGN(const auto at, impl_->open(impl_->root_ino));
  CLOCHE_ASSIGN(const UniqueFd fd, Impl::reopen(at.fd, O_RDONLY));
  if (::syncfs(fd.get()) != 0) return last_error();
  return {};
}

}  // namespace cloche::vfs
