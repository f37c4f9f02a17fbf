// SPDX-License-Identifier: Apache-2.0
// What lies under a memory, flat: the segments of an image, which lie over each other, as pieces
// that do not. By them a memory that holds one image is made to hold another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/result.h"
#include "wasm/memory_image.h"
#include "wasm/private_pages.h"

namespace cloche::wasm {

struct MemoryPiece {
  PageRun run;
  const MemoryFile* file;  // null: zeros
  std::uint64_t offset;    // in the file, of the first byte

  // From `start` on, `length` bytes, which are within it.
  MemoryPiece part(std::uint64_t start, std::uint64_t length) const noexcept {
    return {{start, length}, file, file == nullptr ? 0 : offset + start - run.start};
  }
};

// The first `bytes` of a memory, sorted, without gaps. Good while the segments' files are.
std::vector<MemoryPiece> pieces_of(const std::vector<MemoryImage::Segment>& segments,
                                   std::uint64_t bytes);

// The parts of `to` that are something else in `from`, or nothing.
std::vector<MemoryPiece> changed_pieces(const std::vector<MemoryPiece>& from,
                                        const std::vector<MemoryPiece>& to);

// Where they are.
std::vector<PageRun> runs_of(const std::vector<MemoryPiece>& pieces);

// The parts of them that are in `runs` (sorted, disjoint).
std::vector<MemoryPiece> parts_within(const std::vector<MemoryPiece>& pieces,
                                      const std::vector<PageRun>& runs);

// Maps them, private and accessible.
Result<void> map_pieces(std::byte* base, const std::vector<MemoryPiece>& pieces);

// The pages of an image, read from its files: nothing is mapped for it, and no hole of one is
// filled.
class ImagePages {
 public:
  // `image` outlives it.
  explicit ImagePages(const MemoryImage& image);
  // What lies under the first `bytes` of a memory with these segments, without patches. They
  // outlive it.
  ImagePages(const std::vector<MemoryImage::Segment>& segments, std::uint64_t bytes)
      : pieces_(pieces_of(segments, bytes)) {}
  // The pages of `run`, which are the image's, in parts, one after the other: as they are mapped,
  // or read into `buffer`. Each is good until `take` returns.
  using Take = std::function<Result<void>(std::span<const std::byte> part)>;
  Result<void> read(const PageRun& run, std::span<std::byte> buffer, const Take& take) const;

 private:
  std::vector<MemoryPiece> pieces_;
};

// Copies what `runs` (sorted, disjoint) have in `pieces` into the memory at `base`.
Result<void> read_pieces(std::byte* base, const std::vector<MemoryPiece>& pieces,
                         const std::vector<PageRun>& runs);

}  // namespace cloche::wasm
