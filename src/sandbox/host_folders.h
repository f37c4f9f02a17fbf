// Where things are on the host: the guests' system and the cache.
#pragma once

#include <cstdint>
#include <filesystem>

namespace cloche::sandbox {

// $CLOCHE_CACHE, $XDG_CACHE_HOME/cloche, ~/.cache/cloche. Throws HostError when none of these
// variables is set.
std::filesystem::path default_cache_folder();

// $CLOCHE_WHEEL_CACHE, in MiB; 1 GiB when it is not set. Throws HostError for a text that is no
// such number.
std::uint64_t default_wheel_cache_bytes();

// $CLOCHE_ROOTFS, or `rootfs` beside the folder of this program (build/rootfs for
// build/bin/cloche), or
// ../share/cloche/rootfs of an installed one. Throws HostError with what to do when there is none.
std::filesystem::path default_system_folder();

}  // namespace cloche::sandbox
