// SPDX-License-Identifier: Apache-2.0
// Folders that are to be there.
#pragma once

namespace cloche::warden {

// The folder, unless it is there, and those that lead to it. An errno: EEXIST, ENOTDIR for
// something else in their place.
int make_folders(const char* path) noexcept;

// The same for pid 1, with no more rights than a program of the box has. Empty: there is none.
int make_home(const char* path) noexcept;

}  // namespace cloche::warden
