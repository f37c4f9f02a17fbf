// SPDX-License-Identifier: Apache-2.0
#include "base/host_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

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

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
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

HostFiles& host_files() {
  static HostFiles& files = *new HostFiles;
  return files;
}

DurableFile::DurableFile(HostFiles& files, std::string path, std::string part, UniqueFd fd)
    : files_(&files),
      names_(std::make_unique<Names>(std::move(path), std::move(part))),
      fd_(std::move(fd)) {}

Result<DurableFile> DurableFile::create(HostFiles& files, std::string path, std::string part) {
  CLOCHE_ASSIGN(UniqueFd fd, files.open(part, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600));
  return DurableFile(files, std::move(path), std::move(part), std::move(fd));
}

DurableFile::~DurableFile() {
  if (names_) (void)files_->unlink(names_->part);
}

Result<void> DurableFile::write(std::span<const std::byte> bytes) {
  return files_->write_all(fd_.get(), bytes);
}

// A sync that has failed is never tried again on the same file: what it lost is not told twice.
Result<void> DurableFile::finish() { return files_->sync(fd_.get()); }

Result<void> DurableFile::publish() {
  CLOCHE_TRY(files_->rename(names_->part, names_->path));
  const std::string folder = folder_of(names_->path);
  names_.reset();
  fd_.reset();
  return files_->sync_folder(folder);
}

}  // namespace cloche
