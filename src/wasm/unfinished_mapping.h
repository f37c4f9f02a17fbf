// SPDX-License-Identifier: Apache-2.0
// UnfinishedMapping: what `capture` and `map_into` put off until an instance is used again
// (finish_mapping, memory_image.h): a fork is as fast as it can be, and an instance that is never
// used again pays nothing.
//
// After a capture the memory holds what its new base says, but not yet by the base's mappings:
// parts are private pages, others shared mappings of files that belong to the base now.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "wasm/memory_image.h"

namespace cloche::wasm {

struct UnfinishedMapping {
  // A part of the new base that the captured memory has without its mapping.
  struct Part {
    MemoryImage::Segment segment;
    // `again`: it was written from end to end since the base before, and the base before had it
    // from its guest too. So it will be written again: it gets a file of its own (MemoryMap).
    enum class Written : std::uint8_t { once, again } written = Written::once;
  };
  std::vector<Part> copied{};  // private pages, which were copied into a file
  std::vector<Part> frozen{};  // shared mappings of a file that must not change any more
  // Where segments of the image before are mapped that the base does not have any more.
  std::vector<PageRun> dropped{};
  // The patches of the base.
  enum class Patches : std::uint8_t {
    present,
    only_made_private,
    missing
  } patches = Patches::present;
  // What is mapped until then, where it is another image: its files must not change.
  std::shared_ptr<const MemoryImage> before{};
};

}  // namespace cloche::wasm
