// SPDX-License-Identifier: Apache-2.0
// Mounts by descriptors: made, changed and put in place without a path of the host.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>

#include "native/warden/fd.h"

namespace cloche::warden {

struct MountSetting {
  const char* name;
  const char* value;
};

// A file system that is mounted nowhere yet; -1 with errno. `attributes` are MOUNT_ATTR_...
int make_mount(const char* kind, std::initializer_list<MountSetting> settings,
               unsigned attributes) noexcept;

// -1 with errno.
int put_at(const Fd& mount, const char* path) noexcept;
int protect(const Fd& tree, std::uint64_t attributes) noexcept;

// None, with errno.
Fd clone_tree(int folder, const char* path) noexcept;

using NumberText = std::array<char, 32>;
NumberText text_of(std::uint64_t number) noexcept;

}  // namespace cloche::warden
