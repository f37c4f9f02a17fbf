// SPDX-License-Identifier: Apache-2.0
// Starter: begins wardens, one after the other, for a program that enters a jail in which it can
// begin none. It stands before that and outside of it, is told nothing but that one is wanted, and
// hears nothing of guests. What it has begun lives on without it.
#pragma once

#include <sys/types.h>

namespace cloche::warden {

// The argument of the program that makes it a starter; a folder of control groups may follow.
inline constexpr const char* starter_word = "starter";

// Serves StartWarden records on `socket` until that is closed. `group_folder` as of serve_boxes.
int serve_starts(int socket, const char* group_folder) noexcept;

}  // namespace cloche::warden
