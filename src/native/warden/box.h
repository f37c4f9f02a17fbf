// SPDX-License-Identifier: Apache-2.0
// A box: pid 1 in namespaces of its own, with a root file system that is built for it.
#pragma once

#include <sys/types.h>

#include "native/warden/box_group.h"
#include "native/warden/fd.h"
#include "native/warden/filter.h"
#include "native/warden/groups.h"
#include "native/warden/mounts.h"
#include "native/warden/spaces.h"
#include "native/warden/wire.h"

namespace cloche::warden {

struct BoxParts {
  Fd socket;  // to Cloche
  Fd image;
  Fd begin_with;        // may be none
  Fd runsc;             // of a box behind gVisor alone
  BoxGroup group = {};  // may be none
  MountParts mounts = {};
};

// Makes one: its first word on the socket is BoxReady. It ends with this process, or when the other
// end of the socket is closed.
Spaces::Started make_box(const MakeBox& plan, BoxParts parts, Spaces& spaces,
                         Groups& groups) noexcept;

}  // namespace cloche::warden
