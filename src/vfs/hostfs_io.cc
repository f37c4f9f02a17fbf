// SPDX-License-Identifier: Apache-2.0
// HostFs: opened files and directories of the host.

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <limits>

#include "base/descriptor_share.h"
#include "vfs/hostfs_impl.h"

namespace cloche::vfs {
namespace {

// More than this in one call is cut, as on Linux.
constexpr std::size_t transfer_max = 0x7ffff000;

bool fits_offset(std::uint64_t offset) {
  return offset <= static_cast<std::uint64_t>(std::numeric_limits<off_t>::max());
}

// Cookies: 1 and 2 follow "." and "..", then the host's positions, moved up. Its last one may be
// the largest number there is, and stands for itself: the end.
constexpr std::uint64_t cookie_shift = 3;
constexpr std::uint64_t cookie_end = std::numeric_limits<std::int64_t>::max();

struct HostDirent {
  std::uint64_t ino;
  std::int64_t next;
  std::uint16_t size;
  std::uint8_t type;
  char name[1];
};

}  // namespace

class HostFs::Io final : public NodeIo {
 public:
  Io(Node node, Access access, UniqueFd fd, DescriptorShare::Permit place, std::uint64_t dev)
      : NodeIo(std::move(node), access), place_(std::move(place)), fd_(std::move(fd)), dev_(dev) {
    ++impl().open_count;
  }
  ~Io() override { --impl().open_count; }

  Result<Stat> stat() override {
    CLOCHE_ASSIGN(const auto st, host_stat(fd_.get()));
    return impl().stat_of(node().ino(), st, node().fs().device());
  }

  Result<std::size_t> read(std::uint64_t offset, std::span<std::byte> out) override {
    if (!has(access(), Access::read)) return Errno::badf;
    if (!fits_offset(offset)) return std::size_t{0};
    const ssize_t n = ::pread(fd_.get(), out.data(), std::min(out.size(), transfer_max),
                              static_cast<off_t>(offset));
    if (n < 0) return last_error();
    return static_cast<std::size_t>(n);
  }

  Result<std::size_t> write(std::uint64_t offset, std::span<const std::byte> in) override {
    if (!has(access(), Access::write)) return Errno::badf;
    if (in.empty()) return std::size_t{0};
    if (offset >= file_size_max) return Errno::fbig;
    const ssize_t n = ::pwrite(fd_.get(), in.data(), std::min(in.size(), transfer_max),
                               static_cast<off_t>(offset));
    if (n < 0) return last_error();
    return static_cast<std::size_t>(n);
  }

  Result<Appended> append(std::span<const std::byte> in) override {
    if (!has(access(), Access::write)) return Errno::badf;
    const iovec part{const_cast<std::byte*>(in.data()), std::min(in.size(), transfer_max)};
    const ssize_t n = ::pwritev2(fd_.get(), &part, 1, 0, RWF_APPEND);
    if (n < 0) return last_error();
    CLOCHE_ASSIGN(const auto st, host_stat(fd_.get()));
    return Appended{static_cast<std::size_t>(n), st.stx_size};
  }

  Result<void> truncate(std::uint64_t size) override {
    if (!has(access(), Access::write)) return Errno::badf;
    if (size > file_size_max) return Errno::fbig;
    if (::ftruncate(fd_.get(), static_cast<off_t>(size)) != 0) return last_error();
    return {};
  }

  Result<void> allocate(std::uint64_t offset, std::uint64_t size, AllocateMode mode) override {
    return fallocate(mode == AllocateMode::keep_size ? FALLOC_FL_KEEP_SIZE : 0, offset, size);
  }
  Result<void> punch_hole(std::uint64_t offset, std::uint64_t size) override {
    return fallocate(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, size);
  }

  Result<std::uint64_t> seek_data(std::uint64_t offset) override { return seek(offset, SEEK_DATA); }
  Result<std::uint64_t> seek_hole(std::uint64_t offset) override { return seek(offset, SEEK_HOLE); }

  Result<void> sync() override {
    if (::fsync(fd_.get()) != 0) return last_error();
    return {};
  }

  Result<void> readdir(std::uint64_t cookie, const DirSink& sink) override {
    const Ino self = node().ino();
    if (cookie == 0) {
      if (!sink({self, FileType::directory, ".", 1})) return {};
      cookie = 1;
    }
    if (cookie == 1) {
      const auto parent = node().fs().parent(self);
      if (!sink({parent ? *parent : self, FileType::directory, "..", 2})) return {};
    }
    if (cookie >= cookie_end) return {};
    const std::uint64_t position = cookie < cookie_shift ? 0 : cookie - cookie_shift;
    if (::lseek(fd_.get(), static_cast<off_t>(position), SEEK_SET) < 0) return last_error();
    alignas(HostDirent) std::byte buffer[16 * 1024];
    for (;;) {
      const long size = ::syscall(SYS_getdents64, fd_.get(), buffer, sizeof buffer);
      if (size < 0) return errno == ENOTDIR ? Errno::notdir : last_error();
      if (size == 0) return {};
      for (long at = 0; at < size;) {
        HostDirent entry;
        std::memcpy(&entry, buffer + at, offsetof(HostDirent, name));
        const char* name = reinterpret_cast<const char*>(buffer + at + offsetof(HostDirent, name));
        at += entry.size;
        if (!give(entry, name, sink)) return {};
      }
    }
  }

 private:
  Impl& impl() const { return *static_cast<HostFs&>(node().fs()).impl_; }

  bool give(const HostDirent& entry, std::string_view name, const DirSink& sink) {
    if (name == "." || name == "..") return true;
    auto type = type_from_bits(static_cast<std::uint32_t>(entry.type) << 12);
    if (!type) {
      const auto st = host_stat(fd_.get(), std::string(name).c_str());
      if (!st) return true;
      type = host_type(*st);
    }
    const std::uint64_t next = static_cast<std::uint64_t>(entry.next);
    return sink({impl().number(dev_, entry.ino), *type, name,
                 next >= cookie_end - cookie_shift ? cookie_end : next + cookie_shift});
  }

  Result<void> fallocate(int mode, std::uint64_t offset, std::uint64_t size) {
    if (!has(access(), Access::write)) return Errno::badf;
    if (offset > file_size_max || size > file_size_max - offset) return Errno::fbig;
    if (::fallocate(fd_.get(), mode, static_cast<off_t>(offset), static_cast<off_t>(size)) != 0) {
      return last_error();
    }
    return {};
  }

  Result<std::uint64_t> seek(std::uint64_t offset, int whence) {
    if (!fits_offset(offset)) return Errno::nxio;
    const off_t at = ::lseek(fd_.get(), static_cast<off_t>(offset), whence);
    if (at < 0) return last_error();
    return static_cast<std::uint64_t>(at);
  }

  const DescriptorShare::Permit place_;
  const UniqueFd fd_;
  const std::uint64_t dev_;
};

Result<std::unique_ptr<NodeIo>> HostFs::open(Ino ino, Access access) {
  if (has(access, Access::write)) CLOCHE_TRY(impl_->check_writable());
  if (has(access, Access::execute)) access = access | Access::read;
  CLOCHE_ASSIGN(const auto at, impl_->open(ino));
  int flags = O_RDONLY;
  if (S_ISDIR(at.st.stx_mode)) {
    if (has(access, Access::write)) return Errno::isdir;
    flags |= O_DIRECTORY;
  } else if (!S_ISREG(at.st.stx_mode)) {
    return Errno::inval;
  } else if (has(access, Access::write)) {
    flags = has(access, Access::read) ? O_RDWR : O_WRONLY;
  }
  if (impl_->open_count >= impl_->options.open_max) return Errno::nfile;
  CLOCHE_ASSIGN(UniqueFd fd, Impl::reopen(at.fd, flags));
  auto place = DescriptorShare::of_this_process().acquire(fd, impl_->owner);
  if (!place) return Errno::nfile;
  return std::make_unique<Io>(Node(*this, ino), access, std::move(fd), *std::move(place),
                              Impl::device_of(at.st));
}

}  // namespace cloche::vfs
