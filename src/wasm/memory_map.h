// SPDX-License-Identifier: Apache-2.0
// What lies under the linear memory of one Instance: bookkeeping for MemoryImage, owned by the
// Instance.
//
//   0 ...................................... growth_start ............ size ...... 4 GiB
//   [ files of the base, private pages over them ][ the growth file, shared          ]
//
// Without a base the first part is the module's initial data (InitialMemory), private.
// Without a growth file it goes up to the end. Invariant: a page of the first part that is no
// private (anonymous) page, and in no part that has a file of its own (`rewritten`), holds what the
// base's segments say; so private pages are all that a capture has to copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/unique_fd.h"
#include "wasm/private_pages.h"

namespace cloche::wasm {

class MemoryImage;
struct PackedMemory;
struct UnfinishedMapping;
struct UnfinishedMappingDeleter {
  void operator()(UnfinishedMapping* p) const noexcept;
};

// A file in memory, or one on disk that is only read. Nobody writes the parts that a MemoryImage
// refers to.
struct MemoryFile {
  UniqueFd fd;
  // Its first `mapped_bytes`, where this process has it mapped for itself; or null.
  std::byte* mapped = nullptr;
  std::uint64_t mapped_bytes = 0;
};

// Pages that are a shared mapping of a file of their own, from its start on. Nobody else has it.
struct RewrittenPart {
  PageRun run;
  std::shared_ptr<const MemoryFile> file;
};

struct MemoryMap {
  std::shared_ptr<const MemoryImage> base;
  // The host refused a mapping on the way to a new base: there is none, and pages that are not
  // private may be of several files. Memory is right; its next memory image is a whole one.
  bool base_unknown = false;
  // Where set, memory from `growth_start` on is a shared mapping of this file: a capture takes that
  // part of the file as it is, copies nothing, and moves `growth_start` up. The file's first byte
  // is at `growth_origin`.
  std::shared_ptr<const MemoryFile> growth;
  std::uint64_t growth_origin = 0;
  std::uint64_t growth_start = 0;
  // What below `growth_start` was written anew between the last two images, and so will be again: a
  // capture takes those files too as they are.
  std::vector<RewrittenPart> rewritten;
  // Where under private pages something else may be mapped than the base says. Sorted, disjoint.
  std::vector<PageRun> stale;
  // The memory will be what `base` is, but some of the mapping and copying for it is not done yet:
  // nobody may read or write it before finish_mapping. Putting that off makes a fork as fast as it
  // can be, and is no cost at all for an instance that is never used again.
  std::unique_ptr<UnfinishedMapping, UnfinishedMappingDeleter> unfinished;
  // What has to be laid over the memory before anyone uses it, which finish_mapping does too, after
  // what is unfinished.
  std::shared_ptr<const PackedMemory> packed;
  // Something else may be mapped over parts of the base, and nobody knows where.
  bool pieced = false;
  // The host refused a mapping halfway: there is no memory any more that may be used.
  bool lost = false;

  // Nothing is left to do for finish_mapping.
  bool is_ready() const noexcept { return !unfinished && !packed; }
};

}  // namespace cloche::wasm
