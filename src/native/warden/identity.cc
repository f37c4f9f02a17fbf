// SPDX-License-Identifier: Apache-2.0
#include "native/warden/identity.h"

#include <grp.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cstdio>

#include "native/warden/write_text.h"

namespace cloche::warden {

bool become_nobody() noexcept {
  if (::geteuid() != 0) return true;
  if (::setgroups(0, nullptr) != 0 || ::setresgid(box_user, box_user, box_user) != 0 ||
      ::setresuid(box_user, box_user, box_user) != 0)
    return false;
  // Otherwise /proc/self is root's, and the maps of a box could not be written.
  return ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0;
}

bool map_identity(uid_t user, gid_t group, uid_t outer_user, gid_t outer_group) noexcept {
  std::array<char, 64> line{};
  if (!write_text("/proc/self/setgroups", "deny")) return false;
  std::snprintf(line.data(), line.size(), "%u %u 1", user, outer_user);
  if (!write_text("/proc/self/uid_map", line.data())) return false;
  std::snprintf(line.data(), line.size(), "%u %u 1", group, outer_group);
  return write_text("/proc/self/gid_map", line.data());
}

}  // namespace cloche::warden
