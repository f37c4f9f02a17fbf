// SPDX-License-Identifier: Apache-2.0
#include "native/warden/mount_calls.h"

#include <fcntl.h>
#include <sys/mount.h>

#include <cstdio>

namespace cloche::warden {

int make_mount(const char* kind, std::initializer_list<MountSetting> settings,
               unsigned attributes) noexcept {
  const Fd context(::fsopen(kind, FSOPEN_CLOEXEC));
  if (!context) return -1;
  for (const MountSetting& setting : settings) {
    if (::fsconfig(context.get(), FSCONFIG_SET_STRING, setting.name, setting.value, 0) != 0)
      return -1;
  }
  if (::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) return -1;
  return ::fsmount(context.get(), FSMOUNT_CLOEXEC, attributes);
}

int put_at(const Fd& mount, const char* path) noexcept {
  return ::move_mount(mount.get(), "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH);
}

int protect(const Fd& tree, std::uint64_t attributes) noexcept {
  mount_attr change{};
  change.attr_set = attributes;
  return ::mount_setattr(tree.get(), "", AT_EMPTY_PATH, &change, sizeof change);
}

Fd clone_tree(int folder, const char* path) noexcept {
  return Fd(::open_tree(folder, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
}

NumberText text_of(std::uint64_t number) noexcept {
  NumberText text{};
  std::snprintf(text.data(), text.size(), "%llu", static_cast<unsigned long long>(number));
  return text;
}

}  // namespace cloche::warden
