// SPDX-License-Identifier: Apache-2.0
// Memory images of running instances.
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "wasm/image_memory.h"
#include "wasm/memory_image.h"
#include "wasm/page_files.h"
#include "wasm/private_pages.h"
#include "wasm/unfinished_mapping.h"

namespace cloche::wasm {
namespace {

// The longest stretch of unwritten pages that is copied to join two runs.
constexpr std::uint64_t max_bridged_pages = 4;

// What may be left of an inherited segment for it to be copied: this part of it.
constexpr std::uint64_t max_rest_divisor = 8;

// What is copied of inherited segments so that there are fewer.
constexpr std::uint64_t max_renewed_bytes = std::uint64_t{1} << 20;

// Room that inherited segments leave to new ones.
constexpr std::size_t max_inherited_segments = 20;

// How many parts get files of their own, and of how many pages each is looked at whether it was
// written again.
constexpr std::size_t max_rewritten_parts = 4;
constexpr std::uint64_t max_sampled_pages = 16;

using Part = UnfinishedMapping::Part;

std::vector<MemoryImage::Segment> segments_of(const std::vector<Part>& parts) {
  std::vector<MemoryImage::Segment> segments;
  for (const Part& part : parts) segments.push_back(part.segment);
  return segments;
}

std::vector<PageRun> runs_of(const std::vector<RewrittenPart>& parts) {
  std::vector<PageRun> runs;
  for (const RewrittenPart& part : parts) runs.push_back(part.run);
  return join_runs(std::move(runs));
}

// Most of the pages of memory at `base` are other than those of the segment for it. A sample says
// so: what is wrong about it is a matter of speed.
bool is_written_over(const std::byte* base, const MemoryImage::Segment& segment) {
  const std::uint64_t page = host_page_bytes();
  const std::uint64_t pages = segment.length / page;
  const std::uint64_t samples = std::min(pages, max_sampled_pages);
  std::vector<std::byte> before(page);
  std::uint64_t other = 0;
  for (std::uint64_t i = 0; i < samples; ++i) {
    const std::uint64_t at = i * pages / samples * page;
    const auto count = static_cast<ssize_t>(page);
    if (pread(segment.file->fd.get(), before.data(), page,
              static_cast<off_t>(segment.offset + at)) != count ||
        std::memcmp(base + segment.address + at, before.data(), page) != 0)
      ++other;
  }
  return 2 * other >= samples;
}

}  // namespace

// Makes one image of one instance.
struct MemoryImage::Builder {
  Instance& instance;
  MemoryMap& map;
  std::byte* base;
  std::uint64_t size;         // of memory
  std::uint64_t private_end;  // the part below the growth file
  std::shared_ptr<MemoryImage> image;
  std::vector<PageRun> unused;     // pages that may hold anything in it
  std::vector<PageRun> copied;     // what goes into the image's own file
  std::vector<Part> own_parts;     // parts of that file
  std::vector<Part> frozen_parts;  // of files that the instance has shared
  std::vector<PageRun> dropped;    // where the base has segments that the image does not
  std::size_t rewritten_parts = 0;
  bool rewrite_patches = false;  // the instance does not have them as private pages

  Builder(Instance& of, std::vector<PageRun> unused_pages)
      : instance(of),
        map(of.memory_map()),
        base(of.mapped_memory().base()),
        size(of.mapped_memory().size()),
        private_end(map.growth ? map.growth_start : size),
        image(new MemoryImage),
        unused(std::move(unused_pages)) {
    image->module_digest_ = of.module().info().digest;
    image->memory_bytes_ = size;
    image->globals_ = read_globals(of);
  }

  void take_growth() {
    if (!map.growth || size == map.growth_start) return;
    frozen_parts.push_back({{map.growth_start, size - map.growth_start,
                             map.growth_start - map.growth_origin, map.growth}});
  }

  void add_growth_data(std::vector<PageRun>& data) const {
    if (!map.growth || size == map.growth_start) return;
    const std::vector<PageRun> grown = find_growth_data(map, size);
    data.insert(data.end(), grown.begin(), grown.end());
  }

  // As they are: nothing is copied. Those that were not written again have been guessed wrongly.
  void take_rewritten() {
    for (const RewrittenPart& part : map.rewritten) {
      const auto& before = map.base->segments_;
      const auto same = std::ranges::find_if(before, [&](const Segment& segment) {
        return segment.address == part.run.start && segment.length == part.run.length;
      });
      const bool again = same == before.end() || is_written_over(base, *same);
      frozen_parts.push_back({{part.run.start, part.run.length, 0, part.file}, likely(again)});
    }
  }

  Part::Written likely(bool again) {
    if (!again || rewritten_parts == max_rewritten_parts) return Part::Written::once;
    ++rewritten_parts;
    return Part::Written::again;
  }

  // Without a base: all of memory in one file, at the same offsets, so that one mapping brings it
  // back.
  Result<void> copy_all() {
    auto file = create_memory_file(private_end);
    if (!file) return file.error();
    std::vector<PageRun> data = find_nonzero_pages(base, private_end);
    for (const PageRun& run : data) {
      CLOCHE_TRY(write_runs(**file, run.start, base, {run}));
      image->own_bytes_ += run.length;
    }
    add_growth_data(data);
    image->find_tail(0, std::move(data));
    if (private_end > 0) own_parts.push_back({{0, private_end, 0, *file}});
    return {};
  }

  // On a base: its segments, then what was written since.
  Result<void> copy_written() {
    image->segments_ = map.base->segments_;
    take_rewritten();
    const std::vector<PageRun> shared = runs_of(map.rewritten);
    find_written(shared);
    const std::vector<PageRun> again = common_pages(copied, inherited_runs());
    drop_overwritten_segments(shared);
    renew_small_segments();
    copied = pages_without(join_runs(std::move(copied)), shared);
    if (copied.size() > max_segments) bridge_gaps();
    std::vector<PageRun> data = map.base->tail_;
    data.insert(data.end(), copied.begin(), copied.end());
    data.insert(data.end(), shared.begin(), shared.end());
    add_growth_data(data);
    image->find_tail(map.base->tail_start_, std::move(data));
    image->own_bytes_ = bytes_of(copied);
    return copied.empty() ? Result<void>() : copy_pages(again);
  }

  // Of what is not shared, which has no private pages and is long to look through.
  void find_written(const std::vector<PageRun>& shared) {
    for (const PageRun& part : pages_without({{0, private_end}}, shared)) {
      for (const PageRun& run : find_private_pages(base + part.start, part.length))
        copied.push_back({part.start + run.start, run.length});
    }
    copied = pages_without(copied, unused);
  }

  // `again`: what guests have written before these did.
  Result<void> copy_pages(const std::vector<PageRun>& again) {
    std::vector<PageRun> large, small;
    split_runs(large, small);
    std::vector<PageRun> all = large;
    all.insert(all.end(), small.begin(), small.end());
    CLOCHE_ASSIGN(const std::shared_ptr<const MemoryFile> file, copy_to_file(base, all));
    std::uint64_t offset = 0;
    for (const PageRun& run : large) {
      const bool is_again = run.length >= least_resting_bytes &&
                            2 * bytes_of(common_pages({run}, again)) >= run.length;
      own_parts.push_back({{run.start, run.length, offset, file}, likely(is_again)});
      offset += run.length;
    }
    for (const PageRun& run : small) {
      image->patches_.push_back({run.start, run.length, offset, file});
      offset += run.length;
    }
    return {};
  }

  // What images of live instances have written over the first one.
  std::vector<PageRun> inherited_runs() const {
    std::vector<PageRun> runs;
    for (std::size_t i = 1; i < image->segments_.size(); ++i)
      runs.push_back({image->segments_[i].address, image->segments_[i].length});
    return join_runs(std::move(runs));
  }

  // Many scattered runs would be patches that every copy of this image writes anew: what lies
  // between near ones is taken along.
  void bridge_gaps() {
    const std::uint64_t gap = max_bridged_pages * host_page_bytes();
    std::vector<PageRun> bridged;
    for (const PageRun& run : copied) {
      if (!bridged.empty() && run.start - bridged.back().end() <= gap) {
        bridged.back().length = run.end() - bridged.back().start;
      } else {
        bridged.push_back(run);
      }
    }
    copied = std::move(bridged);
  }

  // Of an inherited segment that was written over little may be left: that is copied too, so that
  // the file goes with the images before. `shared`: what the instance has in files of its own.
  void drop_overwritten_segments(const std::vector<PageRun>& shared) {
    auto& inherited = image->segments_;
    std::vector<PageRun> written = copied;
    written.insert(written.end(), shared.begin(), shared.end());
    written.insert(written.end(), unused.begin(), unused.end());
    written = join_runs(std::move(written));
    std::vector<PageRun> left;
    for (std::size_t i = 1; i < inherited.size();) {
      const Segment& segment = inherited[i];
      std::vector<PageRun> rest = pages_without({{segment.address, segment.length}}, written);
      if (bytes_of(rest) > segment.length / max_rest_divisor) {
        ++i;
        continue;
      }
      left.insert(left.end(), rest.begin(), rest.end());
      dropped.push_back({segment.address, segment.length});
      inherited.erase(inherited.begin() + static_cast<std::ptrdiff_t>(i));
    }
    rewrite_patches = !left.empty();
    copied.insert(copied.end(), left.begin(), left.end());
    copied = join_runs(std::move(copied));
  }

  // A long chain of images would have ever more mappings: the smallest are copied anew, those that
  // are too many and those that cost little.
  void renew_small_segments() {
    auto& inherited = image->segments_;
    std::uint64_t left = max_renewed_bytes;
    while (inherited.size() > 1) {
      const auto smallest =
          std::min_element(inherited.begin() + 1, inherited.end(),
                           [](const Segment& a, const Segment& b) { return a.length < b.length; });
      if (smallest->length > left && inherited.size() <= max_inherited_segments) break;
      left -= std::min(left, smallest->length);
      copied.push_back({smallest->address, smallest->length});
      dropped.push_back(copied.back());
      inherited.erase(smallest);
      rewrite_patches = true;
    }
  }

  // The largest runs get mappings, the others are patches.
  void split_runs(std::vector<PageRun>& large, std::vector<PageRun>& small) const {
    const std::size_t room = max_segments - image->segments_.size() - frozen_parts.size();
    const std::uint64_t least = min_segment_pages * host_page_bytes();
    std::vector<PageRun> by_length = copied;
    std::ranges::stable_sort(by_length, std::ranges::greater{}, &PageRun::length);
    for (const PageRun& run : by_length) {
      (large.size() < room && run.length >= least ? large : small).push_back(run);
    }
    std::ranges::sort(large, {}, &PageRun::start);
    std::ranges::sort(small, {}, &PageRun::start);
  }

  // The instance goes on over the image, as everyone else who maps it; not now, but before it is
  // used.
  void put_off_rebase() {
    using enum UnfinishedMapping::Patches;
    map.unfinished.reset(
        new UnfinishedMapping{.copied = std::move(own_parts),
                              .frozen = std::move(frozen_parts),
                              .dropped = std::move(dropped),
                              .patches = rewrite_patches ? only_made_private : present,
                              .before = map.base});
    map.base = image;
    map.base_unknown = false;
  }
};

Result<std::shared_ptr<const MemoryImage>> MemoryImage::capture(Instance& instance,
                                                                const Unused& unused) {
  // Captured already, and not used since.
  if (const MemoryMap& map = instance.memory_map();
      map.unfinished && !map.packed && map.base->globals_ == read_globals(instance))
    return map.base;
  finish_mapping(instance, Before::anyone_looks);
  std::vector<PageRun> unused_pages;
  try {
    if (unused) unused_pages = unused(instance);
  } catch (const std::bad_alloc&) {
    return Errno::nomem;
  }
  Builder builder(instance, std::move(unused_pages));
  if (builder.base == nullptr) return Errno::noexec;
  if (builder.map.lost) return Errno::nomem;
  builder.take_growth();
  if (builder.map.base) {
    CLOCHE_TRY(builder.copy_written());
  } else {
    CLOCHE_TRY(builder.copy_all());
  }
  auto& segments = builder.image->segments_;
  for (const auto* parts : {&builder.own_parts, &builder.frozen_parts}) {
    const std::vector<Segment> added = segments_of(*parts);
    segments.insert(segments.end(), added.begin(), added.end());
  }
  if (const auto& base = builder.map.base) builder.image->follow(*base);
  builder.image->seal();
  builder.put_off_rebase();
  // Within a host call the guest goes on without another call.
  if (instance.depth() > 0) finish_mapping(instance, Before::the_guest_runs);
  return std::shared_ptr<const MemoryImage>(std::move(builder.image));
}

}  // namespace cloche::wasm
