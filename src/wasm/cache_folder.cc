// SPDX-License-Identifier: Apache-2.0
#include "wasm/cache_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/file_lock.h"
#include "base/folder_names.h"
#include "base/host_error.h"
#include "base/sha256.h"
#include "wasm/trusted_file.h"

namespace cloche::wasm {
namespace {

struct KnownRecord {
  FileTag key;  // of the file's identity
  KnownProgram program;
  FileTag check;  // of the two above
};

FileTag key_of(const FileIdentity& file) {
  const std::string text = fmt::format("program {} {} {} {} {}", file.device, file.inode, file.size,
                                       file.modified_ns, file.changed_ns);
  return sha256(std::as_bytes(std::span(text)));
}

FileTag check_of(const KnownRecord& record) {
  return sha256(std::as_bytes(std::span(&record, 1)).first(offsetof(KnownRecord, check)));
}

// Its time is that of the code's last use: the code's own time says whether it is the file that was
// written.
std::filesystem::path record_path(const std::filesystem::path& code) {
  return std::filesystem::path(code) += ".record";
}

std::filesystem::path known_path(const std::filesystem::path& folder, const FileTag& key) {
  return folder / (to_hex(key).substr(0, 32) + ".known");
}

}  // namespace

void prepare_cache_folder(const std::filesystem::path& folder) {
  std::error_code error;
  if (folder.has_parent_path()) std::filesystem::create_directories(folder.parent_path(), error);
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    throw HostError::from_errno("cannot create the cache folder " + folder.string(), errno);
  }
  struct stat status;
  if (lstat(folder.c_str(), &status) != 0) {
    throw HostError::from_errno("cannot look at the cache folder " + folder.string(), errno);
  }
  if (!S_ISDIR(status.st_mode)) {
    throw HostError(fmt::format("the cache folder {} is not a folder: remove it", folder.string()));
  }
  if (status.st_uid != geteuid()) {
    throw HostError(fmt::format("the cache folder {} belongs to another user: name another one",
                                folder.string()));
  }
  if ((status.st_mode & 077) != 0) {
    throw HostError(fmt::format(
        "the cache folder {} holds machine code and is open to other users: chmod 700 it",
        folder.string()));
  }
}

void prune_cache_folder(const std::filesystem::path& folder, CacheLimits limits,
                        const std::filesystem::path& kept) noexcept try {
  struct Code {
    std::filesystem::path path;
    std::uint64_t bytes;
    std::filesystem::file_time_type time;
  };
  std::vector<Code> codes;
  std::uint64_t total = 0;
  const auto names = folder_names(folder);
  if (!names) return;
  for (const std::string& name : *names) {
    const std::filesystem::path path = folder / name;
    if (path.extension() != ".code") continue;
    std::error_code no_record;
    auto used = std::filesystem::last_write_time(record_path(path), no_record);
    if (no_record) used = std::filesystem::last_write_time(path);
    codes.push_back({path, std::filesystem::file_size(path), used});
    total += codes.back().bytes;
  }
  std::ranges::sort(codes, {}, &Code::time);
  std::size_t left = codes.size();
  for (const Code& code : codes) {
    if (total <= limits.bytes && left <= limits.programs) break;
    if (code.path == kept) continue;
    std::filesystem::remove(code.path);
    std::filesystem::remove(record_path(code.path));
    total -= code.bytes;
    --left;
  }
} catch (const std::exception&) {
  // Another process may prune too; what is left over goes the next time.
}

void note_use(const std::filesystem::path& code) noexcept try {
  utimensat(AT_FDCWD, record_path(code).c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
} catch (const std::bad_alloc&) {
  return;  // it looks less used than it is
}

CachedFileLock::CachedFileLock(const std::filesystem::path& path,
                               const std::function<bool()>& give_up)
    : name_(std::filesystem::path(path) += ".lock"),
      fd_(open(name_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)) {
  if (fd_ && take_file_lock(fd_.get(), give_up) != FileLockEnd::taken) fd_.reset();
}

CachedFileLock::~CachedFileLock() {
  if (fd_) unlink(name_.c_str());
}

std::optional<KnownProgram> find_known_program(const std::filesystem::path& folder,
                                               const FileIdentity& file) {
  const FileTag key = key_of(file);
  const auto bytes = read_small_file(known_path(folder, key), sizeof(KnownRecord));
  if (!bytes || bytes->size() != sizeof(KnownRecord)) return std::nullopt;
  KnownRecord record;
  std::memcpy(&record, bytes->data(), sizeof(record));
  if (record.key != key || record.check != check_of(record)) return std::nullopt;
  return record.program;
}

void remember_program(const std::filesystem::path& folder, const FileIdentity& file,
                      const KnownProgram& program) noexcept {
  // A file that was written within the grain of the clock could change again and keep its times.
  constexpr std::int64_t grain_ns = 2'000'000'000;
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (now.tv_sec * 1'000'000'000 + now.tv_nsec - file.changed_ns < grain_ns) return;
  KnownRecord record{key_of(file), program, {}};
  record.check = check_of(record);
  // What is not remembered is read again.
  (void)replace_file(known_path(folder, record.key), std::as_bytes(std::span(&record, 1)));
}

}  // namespace cloche::wasm
