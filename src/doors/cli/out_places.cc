// SPDX-License-Identifier: Apache-2.0
#include "doors/cli/out_places.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/descriptor_path.h"
#include "base/guest_folders.h"
#include "base/host_error.h"
#include "base/host_files.h"
#include "base/new_file.h"
#include "base/write_fully.h"
#include "doors/cli/support.h"

namespace cloche::cli {
namespace {

constexpr mode_t permission_bits = 0777;

}  // namespace

OutPlaces::OutPlaces(const std::vector<CopyOut>& copies) {
  places_.reserve(copies.size());
  for (const CopyOut& copy : copies) places_.push_back(find(copy));
}

// A link that leads to the file before anything runs is the user's, and stays; but in a folder that
// guests may write to an earlier one may have put it there.
OutPlaces::Place OutPlaces::find(const CopyOut& copy) {
  Place place{.copy = copy, .held = UniqueFd(), .name = {}};
  if (is_standard_output(copy)) return place;
  const auto fail = [&](int error) {
    throw HostError::from_errno("--out: cannot write " + copy.host_path, error);
  };
  auto target = guest_folders().find(copy.host_path, GuestFolders::LastLink::followed);
  if (!target)
    throw HostError("--out: cannot write " + std::string(target.error().sentence()),
                    target.error().code());
  struct stat there{};
  const bool is_there = target->found && ::fstat(target->found.get(), &there) == 0;
  if (is_there && S_ISDIR(there.st_mode)) fail(EISDIR);
  // A device or a pipe takes the bytes itself: it must not be replaced by a file. One of a guest's
  // would be waited for as long as that likes.
  if (is_there && !S_ISREG(there.st_mode)) {
    if (target->is_guests) throw pipe_of_guests("--out: cannot write " + copy.host_path);
    place.held = std::move(target->found);
    return place;
  }
  if (::access(descriptor_path(target->folder).c_str(), W_OK | X_OK) != 0) fail(errno);
  place.held = std::move(target->folder);
  place.name = std::move(target->name);
  return place;
}

// Complete or not at all. A file that is there keeps its mode.
Result<void> OutPlaces::write(const Place& place, std::string_view content) {
  if (!place.held) {
    pass_on(Stream::out, content);
    return {};
  }
  std::string path = descriptor_path(place.held);
  if (place.name.empty()) {
    const UniqueFd device(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
    if (!device || !write_fully(device.get(), content)) return errno_from_host(errno);
    return {};
  }
  struct stat old{};
  const bool is_there =
      ::fstatat(place.held.get(), place.name.c_str(), &old, AT_SYMLINK_NOFOLLOW) == 0 &&
      S_ISREG(old.st_mode);
  path += "/" + place.name;
  CLOCHE_ASSIGN(NewFile file, NewFile::create(host_files(), path, is_there ? 0600 : 0666));
  if (is_there && ::fchmod(file.fd(), old.st_mode & permission_bits) != 0)
    return errno_from_host(errno);
  CLOCHE_TRY(host_files().write_all(file.fd(), std::as_bytes(std::span(content))));
  return file.publish();
}

std::vector<std::filesystem::path> OutPlaces::paths() const {
  std::vector<std::filesystem::path> paths;
  for (const Place& place : places_) {
    if (place.held) paths.emplace_back(descriptor_path(place.held));
  }
  return paths;
}

// A guest that has the folder may move it while the file is written there: then it is, but not where
// it was wanted.
bool OutPlaces::is_where_wanted(const Place& place) {
  if (place.name.empty()) return true;
  const auto wanted = guest_folders().find(place.copy.host_path, GuestFolders::LastLink::followed);
  struct stat written{}, there{};
  return wanted && wanted->found && ::fstat(wanted->found.get(), &there) == 0 &&
         ::fstatat(place.held.get(), place.name.c_str(), &written, AT_SYMLINK_NOFOLLOW) == 0 &&
         written.st_dev == there.st_dev && written.st_ino == there.st_ino;
}

bool OutPlaces::copy_all(Sandbox& sandbox) const {
  bool copied = true;
  for (const Place& place : places_) {
    const Result<std::string> content = sandbox.files().read(place.copy.guest_path);
    const Result<void> written = content ? write(place, *content) : Result<void>();
    if (content && written && is_where_wanted(place)) continue;
    copied = false;
    complain(content && written
                 ? fmt::format("--out: {} is not there: the sandbox has moved it, or "
                               "its folder, while it was written",
                               place.copy.host_path)
             : content ? fmt::format("--out: cannot write {}: {}", place.copy.host_path,
                                     errno_info(written.error()).message)
                       : fmt::format("--out: cannot read {} in the sandbox: {}",
                                     place.copy.guest_path, errno_info(content.error()).message));
  }
  return copied;
}

}  // namespace cloche::cli
