// SPDX-License-Identifier: Apache-2.0
// What of this machine can be mounted, and where: a folder, or a single regular file, at a path of
// the sandbox that is not the system's own.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "cloche/sandbox.h"

namespace cloche::sandbox {

// Throws Error with one sentence, which begins with `name`, for a path where there is neither.
// Links are followed.
void need_mountable(const std::filesystem::path& path, std::string_view name);

// Throws Error with one sentence for a path of the sandbox at which nothing can be mounted.
void need_mount_point(const std::string& guest_path);

// What of Cloche's own guests may not have: a file or a folder.
struct OwnPlace {
  std::filesystem::path path;  // empty: there is none
  std::string_view name;       // such as "the cache"
};

// Throws Error with one sentence for a mount that such a place lies in, or that lies in it.
void need_apart(const Mount& mount, std::span<const OwnPlace> places);

// What is mounted to be written is a guest's from now on: links in it are not followed to elsewhere
// (guest_folders()).
void note_guest_folders(std::span<const Mount> mounts);
// They are mounted now: for other processes of the user, too.
void keep_guest_folders(std::span<const Mount> mounts);

}  // namespace cloche::sandbox
