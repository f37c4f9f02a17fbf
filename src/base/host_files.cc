// SPDX-License-Identifier: Apache-2.0
#include "base/host_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/descriptor_path.h"

namespace cloche {
namespace {

Errno last_error() {
  return errno == EDQUOT || errno == EFBIG ? Errno::nospc : errno_from_host(errno);
}

// Again while a signal interrupts.
template <typename Call>
auto repeat(const Call& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

}  // namespace

Result<UniqueFd> HostFiles::open(const std::string& path, int flags, unsigned mode) {
  const int fd = repeat([&] { return ::open(path.c_str(), flags | O_CLOEXEC, mode); });
  if (fd < 0) return last_error();
  return UniqueFd(fd);
}

Result<std::size_t> HostFiles::write(int fd, std::span<const std::byte> bytes) {
  const ssize_t count = repeat([&] { return ::write(fd, bytes.data(), bytes.size()); });
  if (count < 0) return last_error();
  if (count == 0) return Errno::io;
  return static_cast<std::size_t>(count);
}

Result<std::size_t> HostFiles::read_at(int fd, std::uint64_t offset, std::span<std::byte> to) {
  const ssize_t count =
      repeat([&] { return ::pread(fd, to.data(), to.size(), static_cast<off_t>(offset)); });
  if (count < 0) return last_error();
  return static_cast<std::size_t>(count);
}

Result<void> HostFiles::sync(int fd) {
  if (repeat([&] { return ::fsync(fd); }) != 0) return last_error();
  return {};
}

Result<void> HostFiles::link(int fd, const std::string& path) {
  const std::string from = descriptor_path(fd);
  if (::linkat(AT_FDCWD, from.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) != 0)
    return last_error();
  return {};
}

Result<void> HostFiles::rename(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return last_error();
  return {};
}

Result<void> HostFiles::unlink(const std::string& path) {
  if (::unlink(path.c_str()) != 0) return last_error();
  return {};
}

Result<void> HostFiles::sync_folder(const std::string& folder) {
  CLOCHE_ASSIGN(const UniqueFd handle, open(folder, O_RDONLY | O_DIRECTORY, 0));
  return sync(handle.get());
}

Result<void> HostFiles::write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    CLOCHE_ASSIGN(const std::size_t count, write(fd, bytes));
    bytes = bytes.subspan(count);
  }
  return {};
}

std::string HostFiles::folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

HostFiles& host_files() {
  static HostFiles& files = *new HostFiles;
  return files;
}

}  // namespace cloche
