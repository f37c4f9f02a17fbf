// SPDX-License-Identifier: Apache-2.0
#include "base/new_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <string_view>
#include <utility>

#include "base/folder_names.h"
#include "base/random.h"

namespace cloche {
namespace {

constexpr std::size_t part_bytes = 8;  // of which its digits are made
constexpr std::string_view part_suffix = ".part";

// What there is room for beside the rest of a part's name.
std::string_view beginning_of(std::string_view file) {
  return file.substr(0, NAME_MAX - 1 - 2 * part_bytes - part_suffix.size());
}

std::string part_of(const std::string& path) {
  const std::string_view whole(path), file = whole.substr(path.rfind('/') + 1);
  return fmt::format("{}{}.{}{}", whole.substr(0, path.size() - file.size()), beginning_of(file),
                     random_hex(part_bytes), part_suffix);
}

bool is_part_of(std::string_view name, std::string_view file) {
  file = beginning_of(file);
  if (!name.starts_with(file) || !name.ends_with(part_suffix)) return false;
  name.remove_prefix(file.size());
  name.remove_suffix(std::min(part_suffix.size(), name.size()));
  return name.size() == 1 + 2 * part_bytes && name.front() == '.' &&
         name.find_first_not_of("0123456789abcdef", 1) == name.npos;
}

// A part is locked by who writes it. Where they cannot be listed they stay.
void remove_leftovers(HostFiles& files, const std::string& path) {
  const std::string folder = HostFiles::folder_of(path);
  const std::string file = path.substr(path.rfind('/') + 1);
  const auto names = folder_names(folder);
  if (!names) return;
  for (const std::string& name : *names) {
    if (!is_part_of(name, file)) continue;
    const std::string part = folder + "/" + name;
    const auto fd = files.open(part, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd && ::flock(fd->get(), LOCK_EX | LOCK_NB) == 0) (void)files.unlink(part);
  }
}

bool means_no_such_files(Errno error) {
  return error == Errno::notsup || error == Errno::isdir || error == Errno::inval ||
         error == Errno::nosys;
}

}  // namespace

NewFile::NewFile(HostFiles& files, Names names, UniqueFd fd)
    : files_(&files), names_(std::make_unique<Names>(std::move(names))), fd_(std::move(fd)) {}

Result<NewFile> NewFile::create(HostFiles& files, std::string path, unsigned mode) {
  // By it the file gets its name.
  if (::access("/proc/self/fd", X_OK) == 0) {
    auto fd = files.open(HostFiles::folder_of(path), O_RDWR | O_TMPFILE, mode);
    if (fd) return NewFile(files, {std::move(path), {}}, *std::move(fd));
    if (!means_no_such_files(fd.error())) return fd.error();
  }
  return create_named(files, std::move(path), mode);
}

Result<NewFile> NewFile::create_named(HostFiles& files, std::string path, unsigned mode) {
  remove_leftovers(files, path);
  for (;;) {
    std::string part = part_of(path);
    CLOCHE_ASSIGN(UniqueFd fd, files.open(part, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode));
    struct stat status{};
    // Without locks here nobody takes it for a leftover either.
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) continue;
    // Another process may have taken it for one before it was locked.
    if (::fstat(fd.get(), &status) == 0 && status.st_nlink == 0) continue;
    return NewFile(files, {std::move(path), std::move(part)}, std::move(fd));
  }
}

NewFile::~NewFile() {
  if (names_ && !names_->part.empty()) (void)files_->unlink(names_->part);
}

Result<void> NewFile::publish() {
  if (names_->part.empty()) {
    Result<void> linked = files_->link(fd_.get(), names_->path);
    if (linked || linked.error() != Errno::exist) return linked;
    // A link takes nobody's place.
    std::string part = part_of(names_->path);
    CLOCHE_TRY(files_->link(fd_.get(), part));
    names_->part = std::move(part);
  }
  CLOCHE_TRY(files_->rename(names_->part, names_->path));
  names_->part.clear();
  return {};
}

}  // namespace cloche
