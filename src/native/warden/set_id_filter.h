// SPDX-License-Identifier: Apache-2.0
// A filter of system calls, beside the one of all programs: no file gets a set-id bit. In a folder
// of the host it would be a program that others of the machine run as its owner.
#pragma once

namespace cloche::warden {

// For this thread and what it starts; it must have no_new_privs. Modes with set-id bits are EPERM.
// False with errno.
bool refuse_set_id() noexcept;

}  // namespace cloche::warden
