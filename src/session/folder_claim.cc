// SPDX-License-Identifier: Apache-2.0
#include "session/folder_claim.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>

#include "base/file_lock.h"
#include "base/host_error.h"
#include "base/random.h"

namespace cloche::session {
namespace {

constexpr std::chrono::milliseconds patience{2000};
constexpr std::size_t name_max_bytes = 512;  // of one sector: it is written whole or not
constexpr std::string_view word = "generation ";
constexpr std::string_view cell_word = " for cell ";

std::string host_name() {
  std::string name(256, '\0');
  if (::gethostname(name.data(), name.size() - 1) != 0) return "?";
  name.resize(name.find('\0'));
  return name;
}

std::uint64_t generation_of(std::string_view name) {
  std::uint64_t number = 0;
  if (name.starts_with(word))
    std::from_chars(name.data() + word.size(), name.data() + name.size(), number);
  return number;
}

std::string lock_of(const std::filesystem::path& folder) { return (folder / "lock").string(); }

Result<std::string> read_name(const std::string& path, HostFiles& files) {
  CLOCHE_ASSIGN(const UniqueFd file, files.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0));
  std::string name(name_max_bytes, '\0');
  CLOCHE_ASSIGN(const std::size_t count,
                files.read_at(file.get(), 0, std::as_writable_bytes(std::span(name))));
  name.resize(count);
  // What follows its line is of a longer one, of a server that was killed as it wrote its own.
  if (const std::size_t end = name.find('\n'); end != std::string::npos) name.resize(end + 1);
  return name;
}

// False: another one has it. Without locks there is the name.
bool take_lock(int fd) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  const auto too_late = [&] { return std::chrono::steady_clock::now() > deadline; };
  return take_file_lock(fd, too_late) != FileLockEnd::given_up;
}

}  // namespace

CellKey FolderClaim::last_cell_of(const std::filesystem::path& folder, HostFiles& files) {
  const Result<std::string> name = read_name(lock_of(folder), files);
  const std::size_t at = name ? name->rfind(cell_word) : std::string::npos;
  CellKey cell = 0;
  if (at == std::string::npos || !name->ends_with('\n')) return 0;
  const char* const begin = name->data() + at + cell_word.size();
  const char* const end = name->data() + name->size() - 1;
  const auto read = std::from_chars(begin, end, cell);
  return read.ec == std::errc() && read.ptr == end ? cell : 0;
}

FolderClaim::FolderClaim(const std::filesystem::path& folder, HostFiles& files, CellKey cell)
    : path_(lock_of(folder)), files_(files) {
  const auto fail = [&](Errno error) {
    throw HostError(
        fmt::format("cannot keep sessions in {}: {}", folder.string(), errno_info(error).message));
  };
  Result<UniqueFd> opened = files_.open(path_, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600);
  if (!opened) fail(opened.error());
  lock_ = *std::move(opened);
  const Result<std::string> before = read_name(path_, files_);
  if (!take_lock(lock_.get())) {
    throw HostError(
        fmt::format("another server keeps its sessions in {}: {}", folder.string(),
                    before ? before->substr(0, before->find('\n')) : "its name cannot be read"));
  }
  const Result<std::string> last = read_name(path_, files_);
  name_ = fmt::format("{}{} of {} process {} on {}{}\n", word,
                      generation_of(last ? *last : std::string()) + 1, random_hex(16), ::getpid(),
                      host_name(), cell == 0 ? "" : fmt::format("{}{}", cell_word, cell));
  // In the place of the old one, which most disks have room for even where they are full.
  for (std::size_t at = 0; at < name_.size();) {
    const Result<std::size_t> written =
        files_.write(lock_.get(), std::as_bytes(std::span(name_)).subspan(at));
    if (!written) fail(written.error());
    at += *written;
  }
  if (::ftruncate(lock_.get(), static_cast<off_t>(name_.size())) != 0) fail(errno_from_host(errno));
  if (const Result<void> synced = files_.sync(lock_.get()); !synced) fail(synced.error());
  if (const Result<void> synced = files_.sync_folder(folder.string()); !synced)
    fail(synced.error());
}

Result<void> FolderClaim::check() {
  if (lost_) return Errno::stale;
  CLOCHE_ASSIGN(const std::string name, read_name(path_, files_));
  if (name == name_) return {};
  lost_ = true;
  return Errno::stale;
}

}  // namespace cloche::session
