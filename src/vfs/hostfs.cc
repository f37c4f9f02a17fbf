// SPDX-License-Identifier: Apache-2.0
#include "vfs/hostfs.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/guest_folders.h"
#include "base/host_error.h"
#include "vfs/hostfs_impl.h"

namespace cloche::vfs {
namespace {

// Longer chains of parents than any path has names: the host moved folders about.
constexpr std::size_t depth_max = path_max / 2;

// What the host says when a component is not what it was: a link, another file, a place outside.
Errno resolve_error(int host_errno) {
  switch (host_errno) {
    case ELOOP:
    case EXDEV:
    case EAGAIN: return Errno::stale;
    case ENOTDIR: return Errno::noent;
    default: return errno_from_host(host_errno);
  }
}

int open_beneath(int root, const char* path) {
  open_how how{};
  how.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(::syscall(SYS_openat2, root, path, &how, sizeof how));
}

}  // namespace

Result<struct statx> host_stat(int fd, const char* name) {
  struct statx st{};
  const int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | (*name == '\0' ? AT_EMPTY_PATH : 0);
  if (::statx(fd, name, flags, STATX_BASIC_STATS | STATX_BTIME, &st) != 0) return last_error();
  return st;
}

FileType host_type(const struct statx& st) {
  return type_from_bits(st.stx_mode).value_or(FileType::regular);
}

HostFs::Impl::Impl(UniqueFd root, const struct statx& st, const Options& settings)
    : root_fd(std::move(root)),
      options(settings),
      root_dev(device_of(st)),
      root_ino(number(root_dev, st.stx_ino)),
      trim_at(settings.remembered_max) {
  entries[root_ino] = {.parent = 0, .name = {}, .dev = root_dev, .ino = st.stx_ino};
}

HostFs::Impl::Impl(const Impl& other, UniqueFd root)
    : root_fd(std::move(root)),
      options(other.options),
      root_dev(other.root_dev),
      root_ino(other.root_ino),
      entries(other.entries),
      trim_at(other.trim_at) {
  for (auto& [ino, entry] : entries) entry.refs = 0;
}

HostFs::HostFs(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HostFs::~HostFs() = default;

HostFs::HostFs(const std::string& host_path, const Options& options) {
  Result<UniqueFd, HostError> found = guest_folders().open(host_path);
  if (!found) throw found.error();
  UniqueFd fd = *std::move(found);
  const auto st = host_stat(fd.get());
  if (!st) throw HostError::from_errno("looking at " + host_path, static_cast<int>(st.error()));
  const bool is_folder = S_ISDIR(st->stx_mode);
  if (!is_folder && !S_ISREG(st->stx_mode)) {
    throw HostError(host_path + " is neither a folder nor a regular file", Errno::inval);
  }
  // Said now, in one sentence, rather than by a guest's first access.
  const auto may = [path = descriptor_path(fd)](int what) {
    return ::faccessat(AT_FDCWD, path.c_str(), what, AT_EACCESS) == 0;
  };
  if (!may(R_OK | (is_folder ? X_OK : 0))) throw HostError::from_errno("using " + host_path, errno);
  if (options.access == HostAccess::writable && !may(W_OK))
    throw HostError::from_errno(
        "cannot write to " + host_path + ", so that it can only be mounted read-only", errno);
  impl_ = std::make_unique<Impl>(std::move(fd), *st, options);
  if (is_folder && impl_->options.use_openat2) {
    const UniqueFd probe(open_beneath(impl_->root_fd.get(), "."));
    if (!probe && (errno == ENOSYS || errno == EPERM)) impl_->options.use_openat2 = false;
  }
}

FsRef HostFs::fork_for(std::optional<std::uint64_t>) {
  Result<UniqueFd> fd = impl_->duplicate_root();
  if (!fd)
    throw HostError("a mounted folder cannot be opened once more: " +
                        std::string(errno_info(fd.error()).message),
                    fd.error());
  FsRef fork(new HostFs(std::make_unique<Impl>(*impl_, *std::move(fd))));
  fork->set_device(device());
  return fork;
}

void HostFs::set_owner(const std::shared_ptr<Owner>& owner) { impl_->owner = owner; }

Ino HostFs::Impl::number(std::uint64_t dev, std::uint64_t ino) const {
  constexpr std::uint64_t foreign = std::uint64_t{1} << 63;
  // Numbers of the folder's own file system are shown as they are; those of one mounted below are
  // mixed with its device. Two that fell together would only make the older one stale: the identity
  // is checked apart.
  if (dev == root_dev && (ino & foreign) == 0) return ino;
  std::uint64_t mixed = (ino ^ (dev * 0x9e3779b97f4a7c15u)) * 0xbf58476d1ce4e5b9u;
  mixed ^= mixed >> 31;
  return mixed | foreign;
}

Result<std::string> HostFs::Impl::path_of(Ino ino) const {
  std::vector<const std::string*> names;
  std::size_t size = 0;
  while (ino != root_ino) {
    const auto it = entries.find(ino);
    if (it == entries.end() || it->second.parent == 0) return Errno::noent;
    names.push_back(&it->second.name);
    size += it->second.name.size() + 1;
    if (size > path_max) return Errno::nametoolong;
    if (names.size() > depth_max) return Errno::stale;
    ino = it->second.parent;
  }
  std::string path;
  path.reserve(size);
  for (auto it = names.rbegin(); it != names.rend(); ++it)
    path.append(path.empty() ? "" : "/").append(**it);
  return path;
}

Result<UniqueFd> HostFs::Impl::open_path_by_steps(const std::string& path) const {
  UniqueFd at;
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string name = path.substr(begin, end - begin);
    const int flags = O_PATH | O_NOFOLLOW | O_CLOEXEC | (end < path.size() ? O_DIRECTORY : 0);
    UniqueFd next(::openat(at ? at.get() : root_fd.get(), name.c_str(), flags));
    if (!next) return resolve_error(errno);
    at = std::move(next);
    begin = end + 1;
  }
  return at;
}

Result<UniqueFd> HostFs::Impl::open_path(const std::string& path) const {
  if (!options.use_openat2) return open_path_by_steps(path);
  UniqueFd fd(open_beneath(root_fd.get(), path.c_str()));
  if (!fd) return resolve_error(errno);
  return fd;
}

Result<UniqueFd> HostFs::Impl::duplicate_root() const {
  UniqueFd fd(::fcntl(root_fd.get(), F_DUPFD_CLOEXEC, 3));
  if (!fd) return last_error();
  return fd;
}

Result<HostFs::Impl::Opened> HostFs::Impl::open(Ino ino) const {
  const auto it = entries.find(ino);
  if (it == entries.end()) return Errno::stale;
  Opened opened;
  if (ino == root_ino) {
    CLOCHE_ASSIGN(opened.fd, duplicate_root());
  } else {
    CLOCHE_ASSIGN(const std::string path, path_of(ino));
    CLOCHE_ASSIGN(opened.fd, open_path(path));
  }
  CLOCHE_ASSIGN(opened.st, host_stat(opened.fd.get()));
  if (device_of(opened.st) != it->second.dev || opened.st.stx_ino != it->second.ino) {
    return Errno::stale;
  }
  return opened;
}

Result<HostFs::Impl::Opened> HostFs::Impl::open_directory(Ino ino) const {
  CLOCHE_ASSIGN(Opened opened, open(ino));
  if (!S_ISDIR(opened.st.stx_mode)) return Errno::notdir;
  return opened;
}

Result<UniqueFd> HostFs::Impl::reopen(const UniqueFd& fd, int flags) {
  // The one magic link that is followed: our own, to the inode that has been checked.
  UniqueFd opened(::open(descriptor_path(fd).c_str(), flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!opened) return last_error();
  return opened;
}

void HostFs::Impl::place(Entry& entry, Ino dir, std::string_view name) {
  if (entry.parent != dir) {
    if (const auto old = entries.find(entry.parent); old != entries.end()) --old->second.children;
    entry.parent = dir;
    if (const auto it = entries.find(dir); it != entries.end()) ++it->second.children;
  }
  entry.name = name;
}

Result<Ino> HostFs::Impl::remember(Ino dir, std::string_view name, const struct statx& st) {
  const Ino ino = number(device_of(st), st.stx_ino);
  if (ino == root_ino) return Errno::stale;
  if (S_ISDIR(st.stx_mode)) {
    // The host may have moved a folder into what was below it: places must not form a ring.
    std::size_t depth = 0;
    for (Ino at = dir; at != root_ino;) {
      const auto it = entries.find(at);
      if (at == ino || it == entries.end() || ++depth > depth_max) return Errno::stale;
      at = it->second.parent;
    }
  }
  Entry& entry = entries[ino];
  entry.dev = device_of(st);
  entry.ino = st.stx_ino;
  place(entry, dir, name);
  return ino;
}

void HostFs::Impl::forget_place(Ino dir, std::string_view name, const struct statx& st) {
  const auto it = entries.find(number(device_of(st), st.stx_ino));
  if (it == entries.end() || it->second.parent != dir || it->second.name != name) return;
  place(it->second, 0, {});
}

void HostFs::Impl::trim() {
  if (entries.size() <= trim_at) return;
  bool changed = true;
  while (changed) {
    changed = false;
    for (auto it = entries.begin(); it != entries.end();) {
      const Entry& entry = it->second;
      if (it->first == root_ino || entry.refs != 0 || entry.children != 0) {
        ++it;
        continue;
      }
      if (const auto up = entries.find(entry.parent); up != entries.end()) {
        changed = --up->second.children == 0 || changed;
      }
      it = entries.erase(it);
    }
  }
  // So the next time is worth its while, whatever is held.
  trim_at = std::max<std::size_t>(options.remembered_max, entries.size() * 2);
}

Stat HostFs::Impl::stat_of(Ino ino, const struct statx& st, std::uint64_t device) const {
  const auto time = [](const struct statx_timestamp& t) { return Timestamp{t.tv_sec, t.tv_nsec}; };
  Stat out;
  out.dev = device;
  out.ino = ino;
  out.type = host_type(st);
  out.mode = st.stx_mode & 0777u;
  out.nlink = st.stx_nlink;
  out.uid = options.uid;
  out.gid = options.gid;
  out.size = st.stx_size;
  out.blocks = st.stx_blocks;
  out.blksize = 4096;
  out.atime = time(st.stx_atime);
  out.mtime = time(st.stx_mtime);
  out.ctime = time(st.stx_ctime);
  out.btime = (st.stx_mask & STATX_BTIME) != 0 ? time(st.stx_btime) : out.ctime;
  return out;
}

void HostFs::acquire(Ino ino) { ++impl_->entries[ino].refs; }

void HostFs::release(Ino ino) noexcept {
  const auto it = impl_->entries.find(ino);
  if (it != impl_->entries.end() && --it->second.refs == 0) impl_->trim();
}

Ino HostFs::root() const { return impl_->root_ino; }
bool HostFs::read_only() const { return impl_->options.access == HostAccess::read_only; }

Result<Ino> HostFs::lookup(Ino dir, std::string_view name) {
  if (name.size() > name_max) return Errno::nametoolong;
  if (!check_name(name)) return Errno::noent;
  CLOCHE_ASSIGN(const auto at, impl_->open_directory(dir));
  CLOCHE_ASSIGN(const auto st, host_stat(at.fd.get(), std::string(name).c_str()));
  return impl_->remember(dir, name, st);
}

Result<Ino> HostFs::parent(Ino dir) {
  if (dir == impl_->root_ino) return dir;
  const auto it = impl_->entries.find(dir);
  if (it == impl_->entries.end() || it->second.parent == 0) return Errno::noent;
  return it->second.parent;
}

Result<FileSystem::Location> HostFs::locate(Ino ino) {
  if (ino == impl_->root_ino) return Errno::inval;
  if (!impl_->open(ino)) return Errno::noent;
  const Impl::Entry& entry = impl_->entries.at(ino);
  return Location{entry.parent, entry.name};
}

Result<Stat> HostFs::stat(Ino ino) {
  CLOCHE_ASSIGN(const auto at, impl_->open(ino));
  return impl_->stat_of(ino, at.st, device());
}

Result<std::string> HostFs::readlink(Ino ino) {
  CLOCHE_ASSIGN(const auto at, impl_->open(ino));
  if (!S_ISLNK(at.st.stx_mode)) return Errno::inval;
  std::array<char, path_max> text;
  const ssize_t size = ::readlinkat(at.fd.get(), "", text.data(), text.size());
  if (size < 0) return last_error();
  if (static_cast<std::size_t>(size) == text.size()) return Errno::nametoolong;
  return std::string(text.data(), static_cast<std::size_t>(size));
}

StatFs HostFs::statfs() {
  StatFs out;
  out.magic =
      0x65735546;  // FUSE_SUPER_MAGIC: a folder of another machine's, as far as a guest knows
  out.read_only = read_only();
  struct ::statfs st{};
  if (::fstatfs(impl_->root_fd.get(), &st) != 0) return out;
  out.block_size = static_cast<std::uint64_t>(st.f_bsize);
  out.blocks = st.f_blocks;
  out.blocks_free = st.f_bavail;
  out.inodes = st.f_files;
  out.inodes_free = st.f_ffree;
  return out;
}

}  // namespace cloche::vfs
