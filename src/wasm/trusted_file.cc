// SPDX-License-Identifier: Apache-2.0
#include "wasm/trusted_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "base/host_error.h"
#include "base/new_file.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace cloche::wasm {
namespace {

constexpr unsigned file_mode = 0600;

// The layout of FILE.record, in host byte order: it never leaves this machine for good.
struct Record {
  static constexpr std::uint64_t expected_magic = 0x31656c6966636c63;  // "clcfile1"

  std::uint64_t magic = expected_magic;
  FileTag tag{};
  std::uint64_t note = 0;
  std::uint64_t device = 0, inode = 0, size = 0;
  std::int64_t modified_ns = 0, changed_ns = 0;
  std::uint64_t content_hash = 0;
  std::uint64_t record_hash = 0;  // of all before it

  std::uint64_t hash() const noexcept { return XXH3_64bits(this, offsetof(Record, record_hash)); }

  void set(const FileIdentity& id) noexcept {
    device = id.device;
    inode = id.inode;
    size = id.size;
    modified_ns = id.modified_ns;
    changed_ns = id.changed_ns;
    record_hash = hash();
  }

  bool describes(const FileIdentity& id) const noexcept {
    return device == id.device && inode == id.inode && size == id.size &&
           modified_ns == id.modified_ns && changed_ns == id.changed_ns;
  }
};
static_assert(std::has_unique_object_representations_v<Record>);

std::filesystem::path record_path(std::filesystem::path path) { return path += ".record"; }

std::optional<std::uint64_t> content_hash(int fd, std::uint64_t size) noexcept {
  if (size == 0) return XXH3_64bits(nullptr, 0);
  void* bytes = mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
  if (bytes == MAP_FAILED) return std::nullopt;
  const std::uint64_t hash = XXH3_64bits(bytes, size);
  munmap(bytes, size);
  return hash;
}

std::optional<Record> read_record(const std::filesystem::path& path) {
  const auto bytes = read_small_file(record_path(path), sizeof(Record));
  if (!bytes || bytes->size() != sizeof(Record)) return std::nullopt;
  Record record;
  std::memcpy(&record, bytes->data(), sizeof(Record));
  if (record.magic != Record::expected_magic || record.record_hash != record.hash())
    return std::nullopt;
  return record;
}

Result<void> write_record(const std::filesystem::path& path, const Record& record,
                          HostFiles& files) {
  return replace_file(record_path(path), std::as_bytes(std::span(&record, 1)), files);
}

Result<void> look_at(int fd, struct stat& status) {
  if (fstat(fd, &status) != 0) return errno_from_host(errno);
  return {};
}

}  // namespace

FileIdentity::FileIdentity(const struct stat& s) noexcept
    : device(s.st_dev),
      inode(s.st_ino),
      size(static_cast<std::uint64_t>(s.st_size)),
      modified_ns(s.st_mtim.tv_sec * 1'000'000'000 + s.st_mtim.tv_nsec),
      changed_ns(s.st_ctim.tv_sec * 1'000'000'000 + s.st_ctim.tv_nsec) {}

std::optional<TrustedFile> open_trusted(const std::filesystem::path& path, const FileTag& tag) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat status;
  if (!fd || fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  if (status.st_uid != geteuid() || (status.st_mode & 022) != 0) return std::nullopt;
  auto record = read_record(path);
  if (!record || record->tag != tag) return std::nullopt;
  const FileIdentity identity(status);
  if (!record->describes(identity)) {
    if (record->size != identity.size) return std::nullopt;
    if (content_hash(fd.get(), identity.size) != record->content_hash) return std::nullopt;
    record->set(identity);
    // Without it the next process reads the content once more.
    (void)write_record(path, *record, host_files());
  }
  return TrustedFile{std::move(fd), identity.size, record->note};
}

void save_trusted(const std::filesystem::path& path, const FileTag& tag, std::uint64_t note,
                  const ContentWriter& write, HostFiles& files) {
  const auto must = [&](const char* step, const auto& done) {
    if (done) return;
    throw HostError(
        fmt::format("cannot {} {}: {}", step, path.string(), errno_info(done.error()).message),
        done.error());
  };
  Result<NewFile> made = NewFile::create(files, path.string(), file_mode);
  must("create", made);
  const int fd = made->fd();
  must("write", write(files, fd));
  struct stat status;
  must("stat", look_at(fd, status));
  const auto hash = content_hash(fd, static_cast<std::uint64_t>(status.st_size));
  if (!hash) must("read back", Result<void>(errno_from_host(errno)));
  // An old record would be of the old content.
  if (const Result<void> gone = files.unlink(record_path(path));
      !gone && gone.error() != Errno::noent)
    must("replace the record of", gone);
  must("name", made->publish());
  // That was the last change of the inode; the identity holds from here on.
  must("stat", look_at(fd, status));
  Record record;
  record.tag = tag;
  record.note = note;
  record.content_hash = *hash;
  record.set(FileIdentity(status));
  must("write the record of", write_record(path, record, files));
}

Result<void> replace_file(const std::filesystem::path& path, std::span<const std::byte> bytes,
                          HostFiles& files) {
  CLOCHE_ASSIGN(NewFile file, NewFile::create(files, path.string(), file_mode));
  CLOCHE_TRY(files.write_all(file.fd(), bytes));
  return file.publish();
}

std::optional<std::string> read_small_file(const std::filesystem::path& path, std::size_t limit) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd) return std::nullopt;
  std::string bytes(limit + 1, '\0');
  std::size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t count = ::read(fd.get(), bytes.data() + size, bytes.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::nullopt;
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
  }
  if (size > limit) return std::nullopt;
  bytes.resize(size);
  return bytes;
}

}  // namespace cloche::wasm
