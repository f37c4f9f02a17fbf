// SPDX-License-Identifier: Apache-2.0
#include "sandbox/options/mountable.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <system_error>

#include "base/error.h"
#include "base/guest_folders.h"

namespace cloche::sandbox {
namespace {

// The kernel makes up what is there.
constexpr std::array system_places{"/proc", "/dev/pts"};

bool is_within(const std::filesystem::path& path, const std::filesystem::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
         folder.end();
}

}  // namespace

void need_mountable(const std::filesystem::path& path, std::string_view name) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (std::filesystem::is_directory(status) || std::filesystem::is_regular_file(status)) return;
  throw request_error(fmt::format("{}: '{}' is neither a folder nor a regular file of this machine",
                                  name, path.string()),
                      Errno::noent);
}

void need_mount_point(const std::string& guest_path) {
  const std::filesystem::path path = std::filesystem::path(guest_path).lexically_normal();
  if (!path.is_absolute() || path == "/")
    throw request_error(
        fmt::format("cannot mount at '{}': say an absolute path below /", guest_path));
  for (const char* place : system_places) {
    if (is_within(path, place))
      throw request_error(fmt::format("cannot mount at '{}': what is in {} is the system's own",
                                      guest_path, place));
  }
}

void need_apart(const Mount& mount, std::span<const OwnPlace> places) {
  std::error_code error;
  const std::filesystem::path host = std::filesystem::weakly_canonical(mount.host_path, error);
  for (const OwnPlace& place : places) {
    const std::filesystem::path own = std::filesystem::weakly_canonical(place.path, error);
    if (place.path.empty() || (!is_within(own, host) && !is_within(host, own))) continue;
    throw request_error(
        fmt::format("cannot mount {} at {}{}: {} of Cloche is there ({}), which no guest may have; "
                    "mount a folder beside it, or have it elsewhere",
                    mount.host_path.string(), mount.guest_path,
                    mount.access == Mount::Access::read_only ? "" : " to be written", place.name,
                    place.path.string()),
        Errno::perm);
  }
}

void note_guest_folders(std::span<const Mount> mounts) {
  for (const Mount& mount : mounts) {
    if (mount.access == Mount::Access::read_write) guest_folders().add(mount.host_path);
  }
}

void keep_guest_folders(std::span<const Mount> mounts) {
  for (const Mount& mount : mounts) {
    if (mount.access == Mount::Access::read_write) guest_folders().add_and_keep(mount.host_path);
  }
}

}  // namespace cloche::sandbox
