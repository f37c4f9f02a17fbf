// SPDX-License-Identifier: Apache-2.0
// Where things are on the host: the guests' system and the cache.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cloche::sandbox {

// Where pip in a sandbox looks for the operator's wheels (userland/python/lib/pip/_sources.py).
inline constexpr std::string_view wheels_path = "/usr/share/wheels";

// $CLOCHE_CACHE, or $XDG_CACHE_HOME/cloche or ~/.cache/cloche. Empty when none of these variables
// is set.
std::filesystem::path default_cache_folder();

// The same; an error where there is none, and for one that nobody asked for by $CLOCHE_CACHE and
// that this process cannot have (a root file system that is read-only, a user without a home, a
// folder of somebody else).
Result<std::filesystem::path, Error> usable_cache_folder();

// In that cache: which folders guests may write to (base/guest_folders.h), for this process and
// later ones. Nothing for the empty path.
void keep_guest_folders_in(const std::filesystem::path& cache);

// $CLOCHE_WHEEL_CACHE, in MiB; 1 GiB when it is not set. Throws HostError for a text that is no
// such number.
std::uint64_t default_wheel_cache_bytes();

// The first of these that holds a system: $CLOCHE_ROOTFS (which must); `rootfs` beside the folder
// of this program (build/rootfs for build/bin/cloche); lib/cloche/rootfs of the prefix that the
// program, or the shared library with this code, is installed in; the same of /usr/local and /usr.
// Throws HostError with what to do when there is none.
std::filesystem::path default_system_folder();

// Where an installed program or library in `folder` (bin, lib, lib/x86_64-linux-gnu of a prefix)
// looks for a system.
std::vector<std::filesystem::path> system_folders_near(const std::filesystem::path& folder);

// `cloche-compile`: beside this program, in `bin` beside this program's folder (the wheel), beside
// the system's folder (an installed one) or in `bin` there (a build). Empty when there is none.
std::filesystem::path default_compiler_program(const std::filesystem::path& system_folder);
// The same for another program that came along.
std::filesystem::path default_helper_program(const char* name,
                                             const std::filesystem::path& system_folder);

// gVisor's program: $CLOCHE_RUNSC; where default_helper_program looks; what `make gvisor` has put
// into the cache; in PATH. Empty when there is none.
std::filesystem::path default_runsc(const std::filesystem::path& system_folder);

}  // namespace cloche::sandbox
