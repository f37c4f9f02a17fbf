// SPDX-License-Identifier: Apache-2.0
#include "native/warden/mounts.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "native/warden/gate.h"

namespace cloche::warden {
namespace {

bool read_order(const MountParts& parts, std::uint32_t index, MountOrder& order) {
  const ssize_t got =
      ::pread(parts.orders.get(), &order, sizeof order, static_cast<off_t>(index * sizeof order));
  order.host[sizeof order.host - 1] = '\0';
  order.guest[sizeof order.guest - 1] = '\0';
  return got == static_cast<ssize_t>(sizeof order);
}

Outcome find(const MountOrder& order, Fd& tree) {
  tree.reset(::open_tree(AT_FDCWD, order.host,
                         OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_SYMLINK_NOFOLLOW));
  CLOCHE_STEP(Step::mounts, tree.get());
  struct stat of{};
  CLOCHE_STEP(Step::mounts, ::fstat(tree.get(), &of));
  if (!is_mountable(of.st_mode) || of.st_dev != order.device || of.st_ino != order.inode)
    return {Step::mounts, ESTALE};
  if (!gate().lets_mount(of, order.is_read_only)) return {Step::mounts, ESTALE};
  return outcome_of(Step::mounts, confine_tree(tree, order.is_read_only));
}

Outcome place(MountOrder& order, const Fd& tree) {
  struct stat of{};
  CLOCHE_STEP(Step::mounts, ::fstat(tree.get(), &of));
  for (char* slash = std::strchr(order.guest + 1, '/');; slash = std::strchr(slash + 1, '/')) {
    if (slash != nullptr) *slash = '\0';
    const bool is_file = slash == nullptr && S_ISREG(of.st_mode);
    const int made = is_file ? ::mknod(order.guest, S_IFREG | 0644, 0) : ::mkdir(order.guest, 0755);
    if (made != 0 && errno != EEXIST) return {Step::mounts, errno};
    if (slash == nullptr) break;
    *slash = '/';
  }
  return outcome_of(Step::mounts, ::move_mount(tree.get(), "", AT_FDCWD, order.guest,
                                               MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_SYMLINKS));
}

}  // namespace

bool is_mountable(unsigned mode) noexcept { return S_ISDIR(mode) || S_ISREG(mode); }

int confine_tree(const Fd& tree, bool is_read_only, int users) noexcept {
  mount_attr change{};
  change.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
  if (is_read_only) change.attr_set |= MOUNT_ATTR_RDONLY;
  if (users >= 0) {
    change.attr_set |= MOUNT_ATTR_IDMAP;
    change.userns_fd = static_cast<std::uint64_t>(users);
  }
  change.propagation = MS_PRIVATE;
  return ::mount_setattr(tree.get(), "", AT_EMPTY_PATH | AT_RECURSIVE, &change, sizeof change);
}

Outcome find_mounts(MountParts& parts, std::uint32_t& failed) {
  static MountOrder order;
  // Trees that came along are those of the first orders, so that each has its own place.
  for (std::uint32_t i = 0; i < parts.count; ++i) {
    failed = i;
    if (!read_order(parts, i, order) || order.has_tree != static_cast<bool>(parts.trees[i]))
      return {Step::mounts, EINVAL};
    if (order.has_tree) continue;
    if (auto found = find(order, parts.trees[i]); !found) return found;
  }
  return {};
}

Outcome place_mounts(MountParts& parts, std::uint32_t& failed) {
  static MountOrder order;
  for (std::uint32_t i = 0; i < parts.count; ++i) {
    failed = i;
    if (!read_order(parts, i, order)) return {Step::mounts, EINVAL};
    if (auto placed = place(order, parts.trees[i]); !placed) return placed;
    parts.trees[i].reset();
  }
  parts.orders.reset();
  return {};
}

}  // namespace cloche::warden
