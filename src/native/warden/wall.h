// SPDX-License-Identifier: Apache-2.0
// What a process of a box has around it, apart from the namespaces: privileges, limits, the filter
// of system calls. And Landlock, which pid 1 takes on for all that it starts.
#pragma once

#include <sys/resource.h>

#include <cstdint>

#include "native/warden/filter.h"
#include "native/warden/outcome.h"
#include "native/warden/wire.h"

namespace cloche::warden {

inline constexpr std::uint32_t own_processes = 2;  // pid 1 and the file server count, too
// RLIMIT_CORE, one byte: with 0 the machine's own program for cores would be called.
inline constexpr rlim_t no_core = 1;

struct WallPlan {
  std::uint32_t processes = 0;
  std::uint32_t open_files = 0;
  // Whether files may be marked as set-id: not where they may be the host's.
  bool keeps_set_id = true;
  Isolation isolation = Isolation::full;
};

// For pid 1: signals and abstract sockets stay inside. False: the kernel has no such scopes, and
// the namespaces stand alone.
bool enter_landlock() noexcept;

// For a process of the guest, before exec; it is not to be undone. It keeps what root wants of its
// own files and processes, where it is root inside.
Outcome enter_wall(const WallPlan& plan, const Filter& filter) noexcept;

}  // namespace cloche::warden
