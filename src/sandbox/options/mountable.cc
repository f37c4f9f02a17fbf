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

void note_guest_folders(std::span<const Mount> mounts) {
  for (const Mount& mount : mounts) {
    if (mount.access == Mount::Access::read_write) guest_folders().add(mount.host_path);
  }
}

}  // namespace cloche::sandbox
