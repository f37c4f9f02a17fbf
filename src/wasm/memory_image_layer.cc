// SPDX-License-Identifier: Apache-2.0
// Memory images as pages over another one.
#include <algorithm>

#include "wasm/image_memory.h"
#include "wasm/memory_image.h"
#include "wasm/page_size.h"
#include "wasm/private_pages.h"

namespace cloche::wasm {
namespace {

bool is_same_segment(const MemoryImage::Segment& a, const MemoryImage::Segment& b) {
  return a.address == b.address && a.length == b.length && a.offset == b.offset && a.file == b.file;
}

// Disjoint, whole pages of a memory of `bytes`.
bool are_pages_of(std::vector<PageRun> runs, std::uint64_t bytes) {
  std::ranges::sort(runs, {}, &PageRun::start);
  const std::uint64_t page = host_page_bytes();
  std::uint64_t end = 0;
  for (const PageRun& run : runs) {
    if (run.start < end || run.start > bytes || run.length == 0 || run.length > bytes - run.start ||
        run.start % page != 0 || run.length % page != 0)
      return false;
    end = run.end();
  }
  return true;
}

}  // namespace

std::optional<std::vector<PageRun>> MemoryImage::pages_over(const MemoryImage& base) const {
  const std::size_t shared = base.segments_.size();
  if (module_digest_ != base.module_digest_ || memory_bytes_ < base.memory_bytes_ || shared == 0 ||
      !base.patches_.empty() || segments_.size() < shared ||
      !std::equal(base.segments_.begin(), base.segments_.end(), segments_.begin(), is_same_segment))
    return std::nullopt;
  std::vector<PageRun> runs;
  for (const Segment& patch : patches_) runs.push_back({patch.address, patch.length});
  for (std::size_t i = shared; i < segments_.size(); ++i) {
    // What was never written in a file of grown memory is zero in the base too.
    const Segment& segment = segments_[i];
    const std::uint64_t end = segment.offset + segment.length;
    for (const PageRun& data : find_file_data(segment.file->fd.get(), end)) {
      const std::uint64_t start = std::max(data.start, segment.offset);
      const std::uint64_t stop = std::min(data.end(), end);
      if (start < stop) runs.push_back({segment.address + start - segment.offset, stop - start});
    }
  }
  return join_runs(std::move(runs));
}

Result<std::shared_ptr<const MemoryImage>> MemoryImage::over(const MemoryImage& base, Layer layer) {
  if (layer.memory_bytes < base.memory_bytes_ || layer.memory_bytes > address_space_bytes ||
      layer.memory_bytes % wasm_page_bytes != 0 || !base.patches_.empty() ||
      !are_pages_of(layer.runs, layer.memory_bytes))
    return Errno::inval;
  std::shared_ptr<MemoryImage> image(new MemoryImage);
  image->module_digest_ = base.module_digest_;
  image->memory_bytes_ = layer.memory_bytes;
  image->own_bytes_ = bytes_of(layer.runs);
  image->segments_ = base.segments_;
  image->globals_ = std::move(layer.globals);
  std::vector<PageRun> data = base.tail_;
  data.insert(data.end(), layer.runs.begin(), layer.runs.end());
  image->find_tail(base.tail_start_, std::move(data));
  // The longest are first, and get mappings.
  std::uint64_t offset = layer.offset;
  for (const PageRun& run : layer.runs) {
    const bool is_mapped = image->patches_.empty() && image->segments_.size() < max_segments &&
                           run.length >= min_segment_pages * host_page_bytes();
    auto& parts = is_mapped ? image->segments_ : image->patches_;
    parts.push_back({run.start, run.length, offset, layer.file});
    offset += run.length;
  }
  image->follow(base);
  image->seal();
  return std::shared_ptr<const MemoryImage>(std::move(image));
}

}  // namespace cloche::wasm
