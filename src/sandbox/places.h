// Where things are on the host: the guests' system and the cache.
#pragma once

#include <filesystem>

namespace cloche::detail {

// $CLOCHE_CACHE, $XDG_CACHE_HOME/cloche, ~/.cache/cloche. Throws HostError when none of these
// variables is set.
std::filesystem::path default_cache_folder();

// $CLOCHE_ROOTFS, or `rootfs` beside the folder of this program (build/rootfs for
// build/bin/cloche), or
// ../share/cloche/rootfs of an installed one. Throws HostError with what to do when there is none.
std::filesystem::path default_system_folder();

}  // namespace cloche::detail
