// SPDX-License-Identifier: Apache-2.0
// The warden: one process of an engine, which makes boxes and buries them. Cloche has threads, from
// which a box cannot be cloned; this has one, and knows nothing that a guest could want.
#pragma once

#include <sys/types.h>

namespace cloche::warden {

// Answers MakeBox records on the socket until its other end is closed; then this process ends, and
// with it all boxes. Run by root it is, from then on, a user and a group that nobody else is.
// `group_folder` is one of control groups (groups.h), or null; `program` is Cloche. The exit
// status.
int serve_boxes(int socket, const char* group_folder, pid_t program) noexcept;

}  // namespace cloche::warden
