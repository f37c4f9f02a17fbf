// SPDX-License-Identifier: Apache-2.0
// Files in memory for the pages that captures copy. Those of images that are gone rest, and are
// written over by the next: copying over pages that are there costs a fifth of what new ones do,
// and giving up the old ones is saved as well.
//
// A file is written in all parts that its image names before anybody maps it, so nothing of the
// image before is seen. It rests when nobody refers to it any more: who maps a part of it refers to
// its image until the mapping is gone, or says that it is never to rest.
//
// Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "wasm/memory_map.h"
#include "wasm/private_pages.h"

namespace cloche::wasm {

// Smaller ones are made anew: they cost little.
inline constexpr std::uint64_t least_resting_bytes = std::uint64_t{256} << 10;

// A file with `runs` of memory at `base`, one after the other.
Result<std::shared_ptr<const MemoryFile>> copy_to_file(const std::byte* base,
                                                       const std::vector<PageRun>& runs);

// From now on the file goes when nobody refers to it any more: it may still be mapped then.
void never_rest(const std::shared_ptr<const MemoryFile>& file) noexcept;

// Gives those that rest back to the host: where it refuses something else.
void give_back_page_files() noexcept;

// What rests now.
std::uint64_t resting_file_bytes() noexcept;

}  // namespace cloche::wasm
