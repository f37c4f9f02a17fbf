// SPDX-License-Identifier: Apache-2.0
// PackedMemory: what an instance that rests has written, as the differences from what its memory
// began with, so that the host has the pages back. PackedImage: the same as an image, of which the
// host has no pages either.
//
// Most of what a guest writes are some words in each of many pages: caches, counters, pointers. The
// differences of a shell or an interpreter take a fraction of the pages. They are laid over the
// memory again before anyone uses it (finish_mapping), at the cost of a fault for each page.
//
// It is taken for granted, as for a capture, that a page which is not private holds what the base
// of the memory says (MemoryMap). The differences are taken first, and then the pages are given
// back.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "wasm/instance.h"
#include "wasm/memory_image.h"

namespace cloche::wasm {

// Of each page: its number, how many runs of words differ, and of each its first word and length
// (16 bits each) and then the words, of 32 bits.
struct PackedMemory {
  std::vector<std::uint32_t> words;
};

// Packs the memory of an instance that nobody uses, that began with an image, and that nobody
// shares it with. False: it stays as it is, because it is packed already, there is too much or
// nothing, or the host does not tell what was written. Any thread, while no other uses the
// instance.
bool pack_memory(Instance& instance) noexcept;

// Gives the host the pages of `unused` (sorted, disjoint) back, in which nobody wants to know what
// there is: afterwards they are zero, or as they were where an image lies under them. Any thread,
// while no other uses the instance.
void give_back_unused(Instance& instance, const std::vector<PageRun>& unused) noexcept;

// An image as what it differs in from the first one under it, for InstanceOptions. Immutable.
struct PackedImage {
  std::shared_ptr<const MemoryImage> first;
  std::uint64_t memory_bytes = 0;
  std::vector<MemoryImage::Global> globals;
  PackedMemory pages;
};

// Packs the memory as pack_memory does, over the first image of those that it began with: nothing
// is kept of those between for its sake, nor what there is in `unused` (sorted, disjoint). Null: it
// stays as it is; so does one whose memory is prepared for a capture. With it what the instance is
// now, which shares what is packed.
std::shared_ptr<const PackedImage> pack_as_image(Instance& instance,
                                                 const std::vector<PageRun>& unused = {}) noexcept;

// For an instance that has the image's first one already.
Result<void> map_packed(const std::shared_ptr<const PackedImage>& image, Instance& instance);

// For finish_mapping.
void unpack_memory(std::byte* base, const PackedMemory& packed) noexcept;

}  // namespace cloche::wasm
