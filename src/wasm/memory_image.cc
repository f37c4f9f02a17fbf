// SPDX-License-Identifier: Apache-2.0
#include "wasm/memory_image.h"

#include <algorithm>

#include "base/check.h"
#include "wasm/image_memory.h"
#include "wasm/page_files.h"
#include "wasm/page_size.h"
#include "wasm/private_pages.h"

namespace cloche::wasm {
namespace {

// How much of the end of memory may be in use for it to be a free tail, and how long it must be to
// be worth a mapping.
constexpr std::uint64_t max_tail_pages = 64;
constexpr std::uint64_t min_tail_bytes = std::uint64_t{1} << 20;

// More of it than this written already: the tail stays where it is.
constexpr std::uint64_t max_moved_pages = 256;

// The longest stretch of unwritten pages that is copied to join two runs.
constexpr std::uint64_t max_bridged_pages = 4;

// What may be left of an inherited segment for it to be copied: this part of it.
constexpr std::uint64_t max_rest_divisor = 8;

// What is copied of inherited segments so that there are fewer.
constexpr std::uint64_t max_renewed_bytes = std::uint64_t{1} << 20;

// Room that inherited segments leave to new ones.
constexpr std::size_t max_inherited_segments = 20;

std::vector<MemoryImage::Global> read_globals(const Instance& instance) {
  std::vector<MemoryImage::Global> globals;
  for (const ModuleExport& item : instance.module().info().exports) {
    if (item.kind != ExternKind::global || !item.is_mutable) continue;
    if (const auto value = instance.global(item.name)) globals.push_back({item.name, *value});
  }
  return globals;
}

Result<void> write_globals(Instance& instance, const std::vector<MemoryImage::Global>& globals) {
  for (const auto& global : globals) CLOCHE_TRY(instance.set_global(global.name, global.value));
  return {};
}

Result<void> grow_to(Instance& instance, std::uint64_t bytes) {
  const std::uint64_t now = instance.mapped_memory().size();
  if (now > bytes) return Errno::noexec;
  if (now < bytes) CLOCHE_TRY(instance.grow((bytes - now) / wasm_page_bytes));
  return {};
}

std::byte* base_of(Instance& instance) { return instance.mapped_memory().base(); }

// Its files may be mapped where nobody knows it.
void never_rest(const MemoryImage& image) noexcept {
  for (const auto* parts : {&image.segments(), &image.patches()})
    for (const MemoryImage::Segment& segment : *parts) never_rest(segment.file);
}

}  // namespace

// What is left to do for memory to be what its base is.
struct UnfinishedMapping {
  // Of a capture: the captured memory has the same content already, as private pages or shared.
  std::vector<MemoryImage::Segment> own_segments;
  std::vector<MemoryImage::Segment> growth_segments;
  // The patches of the base.
  enum class Patches : std::uint8_t { present, only_made_private, missing } patches;
  // What is mapped until then, where it is another image: its files must not change.
  std::shared_ptr<const MemoryImage> before;
};

void UnfinishedMappingDeleter::operator()(UnfinishedMapping* p) const noexcept { delete p; }

void finish_mapping(Instance& instance) noexcept {
  using enum UnfinishedMapping::Patches;
  MemoryMap& map = instance.memory_map();
  if (!map.unfinished) return;
  const auto work = std::move(map.unfinished);
  std::byte* base = base_of(instance);
  // There is no going on without these: others may have the growth file mapped already.
  bool good = work->patches != missing || read_patches(base, map.base->patches()).ok();
  for (const auto& segment : work->growth_segments) {
    good = good && map_segment(base, segment, Sharing::private_copy, Access::read_write).ok();
    map.growth_start = segment.address + segment.length;
  }
  map.lost = !good;
  if (!good) return;
  // Without these memory is right as it is, but the next image has to copy all of it.
  for (const auto& segment : work->own_segments) {
    good = good && map_segment(base, segment, Sharing::private_copy, Access::read_write).ok();
  }
  if (work->patches == only_made_private)
    good = good && read_patches(base, map.base->patches()).ok();
  if (good) return;
  if (work->before) never_rest(*work->before);
  never_rest(*map.base);
  map.base = nullptr;
  map.base_unknown = true;
}

// `data`: the pages at or above `floor` that are not zero; there may be others below it.
void MemoryImage::find_tail(std::uint64_t floor, std::vector<PageRun> data) {
  tail_start_ = floor;
  std::uint64_t bytes = 0;
  data = join_runs(std::move(data));
  for (auto run = data.rbegin(); run != data.rend() && run->end() > floor; ++run) {
    bytes += run->length;
    if (bytes > max_tail_pages * host_page_bytes()) {
      tail_start_ = run->end();
      break;
    }
  }
  if (memory_bytes_ < tail_start_ + min_tail_bytes) tail_start_ = memory_bytes_;
  for (const PageRun& run : data) {
    const std::uint64_t start = std::max(run.start, tail_start_);
    if (start < run.end()) tail_.push_back({start, run.end() - start});
  }
}

// Makes one image of one instance.
struct MemoryImage::Builder {
  Instance& instance;
  MemoryMap& map;
  std::byte* base;
  std::uint64_t size;         // of memory
  std::uint64_t private_end;  // the part below the growth file
  std::shared_ptr<MemoryImage> image;
  std::vector<PageRun> copied;           // what goes into the image's own file
  std::vector<Segment> own_segments;     // parts of that file
  std::vector<Segment> growth_segments;  // none or one
  bool rewrite_patches = false;          // the instance does not have them as private pages

  explicit Builder(Instance& of)
      : instance(of),
        map(of.memory_map()),
        base(base_of(of)),
        size(of.mapped_memory().size()),
        private_end(map.growth ? map.growth_start : size),
        image(new MemoryImage) {
    image->module_digest_ = of.module().info().digest;
    image->memory_bytes_ = size;
    image->globals_ = read_globals(of);
  }

  void take_growth() {
    if (!map.growth || size == map.growth_start) return;
    growth_segments.push_back({map.growth_start, size - map.growth_start,
                               map.growth_start - map.growth_origin, map.growth});
  }

  void add_growth_data(std::vector<PageRun>& data) const {
    if (growth_segments.empty()) return;
    const std::vector<PageRun> grown = find_growth_data(map, size);
    data.insert(data.end(), grown.begin(), grown.end());
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
    if (private_end > 0) own_segments.push_back({0, private_end, 0, *file});
    return {};
  }

  // On a base: its segments, then what was written since.
  Result<void> copy_written() {
    image->segments_ = map.base->segments_;
    copied = find_private_pages(base, private_end);
    drop_overwritten_segments();
    renew_small_segments();
    copied = join_runs(std::move(copied));
    if (copied.size() > max_segments) bridge_gaps();
    std::vector<PageRun> data = map.base->tail_;
    data.insert(data.end(), copied.begin(), copied.end());
    add_growth_data(data);
    image->find_tail(map.base->tail_start_, std::move(data));
    if (copied.empty()) return {};

    std::vector<PageRun> large, small;
    split_runs(large, small);
    std::vector<PageRun> all = large;
    all.insert(all.end(), small.begin(), small.end());
    CLOCHE_ASSIGN(const std::shared_ptr<const MemoryFile> file, copy_to_file(base, all));
    std::uint64_t offset = 0;
    for (const PageRun& run : large) {
      own_segments.push_back({run.start, run.length, offset, file});
      offset += run.length;
    }
    for (const PageRun& run : small) {
      image->patches_.push_back({run.start, run.length, offset, file});
      offset += run.length;
    }
    image->own_bytes_ = bytes_of(copied);
    return {};
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
  // the file goes with the images before.
  void drop_overwritten_segments() {
    auto& inherited = image->segments_;
    std::vector<PageRun> left;
    for (std::size_t i = 1; i < inherited.size();) {
      const Segment& segment = inherited[i];
      std::vector<PageRun> rest = pages_without({{segment.address, segment.length}}, copied);
      if (bytes_of(rest) > segment.length / max_rest_divisor) {
        ++i;
        continue;
      }
      left.insert(left.end(), rest.begin(), rest.end());
      inherited.erase(inherited.begin() + static_cast<std::ptrdiff_t>(i));
      rewrite_patches = true;
    }
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
      inherited.erase(smallest);
      rewrite_patches = true;
    }
  }

  // The largest runs get mappings, the others are patches.
  void split_runs(std::vector<PageRun>& large, std::vector<PageRun>& small) const {
    const std::size_t room = max_segments - image->segments_.size() - growth_segments.size();
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
    map.unfinished.reset(new UnfinishedMapping{std::move(own_segments), std::move(growth_segments),
                                               rewrite_patches ? only_made_private : present,
                                               map.base});
    map.base = image;
    map.base_unknown = false;
  }
};

void MemoryImage::seal() {
  std::vector<PageRun> patched;
  for (const Segment& patch : patches_) patched.push_back({patch.address, patch.length});
  content_.emplace(
      memory_bytes_,
      [this](std::byte* base) {
        return map_segments(base, segments_).ok() && read_patches(base, patches_).ok();
      },
      std::move(patched));
}

Result<std::shared_ptr<const MemoryImage>> MemoryImage::capture(Instance& instance) {
  // Captured already, and not used since.
  if (const MemoryMap& map = instance.memory_map();
      map.unfinished && map.base->globals_ == read_globals(instance))
    return map.base;
  finish_mapping(instance);
  Builder builder(instance);
  if (builder.base == nullptr) return Errno::noexec;
  if (builder.map.lost) return Errno::nomem;
  builder.take_growth();
  if (builder.map.base) {
    CLOCHE_TRY(builder.copy_written());
  } else {
    CLOCHE_TRY(builder.copy_all());
  }
  auto& segments = builder.image->segments_;
  segments.insert(segments.end(), builder.own_segments.begin(), builder.own_segments.end());
  segments.insert(segments.end(), builder.growth_segments.begin(), builder.growth_segments.end());
  builder.put_off_rebase();
  builder.image->seal();
  // Within a host call the guest goes on without another call.
  if (instance.depth() > 0) finish_mapping(instance);
  return std::shared_ptr<const MemoryImage>(std::move(builder.image));
}

Result<void> MemoryImage::map_into(Instance& instance) const {
  CLOCHE_CHECK(!instance.memory_map().base);
  if (instance.module().info().digest != module_digest_) return Errno::noexec;
  CLOCHE_TRY(grow_to(instance, memory_bytes_));
  CLOCHE_TRY(write_globals(instance, globals_));
  MemoryMap& map = instance.memory_map();
  if (const LinearMemory::Warmth* warmth = instance.warmth(); warmth && instance.image() == this) {
    map.base = shared_from_this();
    map.growth = warmth->growth;
    map.growth_origin = map.growth_start = warmth->growth_start;
    return {};
  }
  CLOCHE_TRY(map_segments(base_of(instance), segments_));
  map.base = shared_from_this();
  if (!patches_.empty())
    map.unfinished.reset(
        new UnfinishedMapping{{}, {}, UnfinishedMapping::Patches::missing, nullptr});
  return {};
}

Result<void> copy_into_clone(Instance& parent, Instance& child) {
  const MemoryMap& map = parent.memory_map();
  if (map.lost) return Errno::nomem;
  if (map.unfinished || map.base_unknown) {  // an image that is there already, or the only way
    CLOCHE_ASSIGN(const auto image, MemoryImage::capture(parent));
    return image->map_into(child);
  }
  if (parent.module().info().digest != child.module().info().digest) return Errno::noexec;
  const std::uint64_t size = parent.mapped_memory().size();
  CLOCHE_TRY(grow_to(child, size));
  std::byte* from = base_of(parent);
  std::byte* to = base_of(child);
  if (from == nullptr) return Errno::noexec;
  MemoryMap& own = child.memory_map();
  CLOCHE_CHECK(!own.base || own.base == map.base);
  if (map.base && !own.base) CLOCHE_TRY(map_segments(to, map.base->segments()));
  own.base = map.base;
  // Patches of the base are private pages of the parent, like all else that it wrote.
  own.unfinished.reset();
  CLOCHE_ASSIGN(
      bool pieced,
      copy_runs(to, from, find_private_pages(from, map.growth ? map.growth_start : size)));
  own.pieced = pieced;
  if (map.growth && size > map.growth_start) {
    CLOCHE_ASSIGN(pieced, copy_runs(to, from, find_growth_data(map, size)));
    own.pieced = own.pieced || pieced;
  }
  return write_globals(child, read_globals(parent));
}

Result<void> prepare_for_capture(Instance& instance) {
  MemoryMap& map = instance.memory_map();
  const std::uint64_t size = instance.memory().size();
  std::byte* base = base_of(instance);
  if (map.growth || map.lost || base == nullptr || size >= address_space_bytes) return {};

  std::uint64_t start = map.base ? map.base->tail_start() : size;
  std::vector<PageRun> moved = find_private_pages(base + start, size - start);
  for (PageRun& run : moved) run.start += start;
  if (bytes_of(moved) > max_moved_pages * host_page_bytes()) {
    start = size;
    moved.clear();
  } else if (start < size) {
    moved.insert(moved.end(), map.base->tail().begin(), map.base->tail().end());
  }

  const std::uint64_t bytes = address_space_bytes - start;
  auto file = create_memory_file(bytes);
  if (!file) return file.error();
  for (const PageRun& run : join_runs(std::move(moved))) {
    CLOCHE_TRY(write_runs(**file, run.start - start, base, {run}));
  }
  // All of this is reserved for the instance (linear_memory.cc) and made accessible as it grows.
  if (start < size) {
    CLOCHE_TRY(
        map_segment(base, {start, size - start, 0, *file}, Sharing::shared, Access::read_write));
  }
  CLOCHE_TRY(map_segment(base, {size, address_space_bytes - size, size - start, *file},
                         Sharing::shared, Access::none));
  map.growth = *file;
  map.growth_origin = start;
  map.growth_start = start;
  return {};
}

}  // namespace cloche::wasm
