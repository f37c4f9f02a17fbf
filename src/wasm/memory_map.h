// What lies under the linear memory of one Instance: bookkeeping for MemoryImage, owned by the Instance.
//
//   0 ............ base->memory_bytes() ........... growth_start ............ size
//   [ base image, private pages over it ][ private pages ][ growth file, shared ]
//
// Without a base the first part is what wasmtime maps for the module: its initial data, private.
#pragma once

#include <cstdint>
#include <memory>

#include "base/unique_fd.h"

namespace cloche::wasm {

class MemoryImage;

// A file in memory that nobody writes any more once a MemoryImage refers to it, or a file on disk that is only read.
struct MemoryFile {
  UniqueFd fd;
};

struct MemoryMap {
  std::shared_ptr<const MemoryImage> base;
  // Where set, memory from `growth_start` on is a shared mapping of this file from its start: a capture takes the file as it is and
  // copies nothing.
  std::shared_ptr<const MemoryFile> growth;
  std::uint64_t growth_start = 0;
};

}  // namespace cloche::wasm
