#include "wasm/memory_image.h"

#include <algorithm>

#include "base/check.h"
#include "wasm/image_memory.h"
#include "wasm/private_pages.h"

namespace cloche::wasm {
namespace {

constexpr std::uint64_t wasm_page_bytes = 65536;
constexpr std::uint64_t address_space_bytes = std::uint64_t{4} << 30;

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

}  // namespace

// What `finish_capture` has to map over the memory that was captured.
struct UnfinishedCapture {
  std::vector<MemoryImage::Segment> own_segments;
  std::vector<MemoryImage::Segment> growth_segments;
  bool rewrite_patches;
};

void UnfinishedCaptureDeleter::operator()(UnfinishedCapture* p) const noexcept { delete p; }

void finish_capture(Instance& instance) noexcept {
  MemoryMap& map = instance.memory_map();
  if (!map.unfinished) return;
  const auto work = std::move(map.unfinished);
  std::byte* base = base_of(instance);
  // Others may have this part of the growth file mapped already, so there is no going on without.
  for (const auto& segment : work->growth_segments) {
    if (!map_segment(base, segment, Sharing::private_copy, Access::read_write)) {
      map.lost = true;
      return;
    }
    map.growth_start = segment.address + segment.length;
  }
  // Here the pages as they were written would do, but then the next image is to have all of them.
  const auto image = std::move(map.base);
  map.base = nullptr;
  for (const auto& segment : work->own_segments) {
    if (!map_segment(base, segment, Sharing::private_copy, Access::read_write)) return;
  }
  if (work->rewrite_patches && !read_patches(base, image->patches())) return;
  map.base = image;
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

  // Without a base: all of memory in one file, at the same offsets, so that one mapping brings it
  // back.
  Result<void> copy_all() {
    auto file = create_memory_file(private_end);
    if (!file) return file.error();
    for (const PageRun& run : find_nonzero_pages(base, private_end)) {
      CLOCHE_TRY(write_runs(**file, run.start, base, {run}));
      image->own_bytes_ += run.length;
    }
    if (private_end > 0) own_segments.push_back({0, private_end, 0, *file});
    return {};
  }

  // On a base: its segments, then what was written since.
  Result<void> copy_written() {
    image->segments_ = map.base->segments_;
    copied = find_private_pages(base, private_end);
    demote_small_segments();
    copied = join_runs(std::move(copied));
    if (copied.empty()) return {};

    std::vector<PageRun> large, small;
    split_runs(large, small);
    std::uint64_t bytes = 0;
    for (const PageRun& run : copied) bytes += run.length;
    auto file = create_memory_file(bytes);
    if (!file) return file.error();
    std::uint64_t offset = 0;
    for (const PageRun& run : large) {
      own_segments.push_back({run.start, run.length, offset, *file});
      offset += run.length;
    }
    CLOCHE_TRY(write_runs(**file, 0, base, large));
    CLOCHE_TRY(write_runs(**file, offset, base, small));
    for (const PageRun& run : small) {
      image->patches_.push_back({run.start, run.length, offset, *file});
      offset += run.length;
    }
    image->own_bytes_ = bytes;
    return {};
  }

  // A long chain of images would have ever more mappings; the smallest are copied anew.
  void demote_small_segments() {
    auto& inherited = image->segments_;
    while (inherited.size() > max_inherited_segments) {
      const auto smallest =
          std::min_element(inherited.begin() + 1, inherited.end(),
                           [](const Segment& a, const Segment& b) { return a.length < b.length; });
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
  // written.
  void put_off_rebase() {
    map.unfinished.reset(new UnfinishedCapture{std::move(own_segments), std::move(growth_segments),
                                               rewrite_patches});
    map.base = image;
  }
};

Result<std::shared_ptr<const MemoryImage>> MemoryImage::capture(Instance& instance) {
  // Captured already, and not touched since.
  if (const MemoryMap& map = instance.memory_map();
      map.unfinished && map.base->globals_ == read_globals(instance))
    return map.base;
  Builder builder(instance);
  if (builder.base == nullptr) return Errno::noexec;
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
  // Within a host call the guest goes on without another call.
  if (instance.depth() > 0) finish_capture(instance);
  return std::shared_ptr<const MemoryImage>(std::move(builder.image));
}

Result<void> MemoryImage::map_into(Instance& instance) const {
  CLOCHE_CHECK(!instance.memory_map().base);
  if (instance.module().info().digest != module_digest_) return Errno::noexec;
  CLOCHE_TRY(grow_to(instance, memory_bytes_));
  std::byte* base = base_of(instance);
  for (const Segment& segment : segments_) {
    CLOCHE_TRY(map_segment(base, segment, Sharing::private_copy, Access::read_write));
  }
  CLOCHE_TRY(read_patches(base, patches_));
  CLOCHE_TRY(write_globals(instance, globals_));
  instance.memory_map().base = shared_from_this();
  return {};
}

Result<void> copy_into_clone(Instance& parent, Instance& child) {
  const MemoryMap& map = parent.memory_map();
  CLOCHE_CHECK(!child.memory_map().base);
  if (map.unfinished) {  // the image is the parent's memory
    CLOCHE_TRY(map.base->map_into(child));
    return write_globals(child, read_globals(parent));
  }
  if (parent.module().info().digest != child.module().info().digest) return Errno::noexec;
  const std::uint64_t size = parent.mapped_memory().size();
  CLOCHE_TRY(grow_to(child, size));
  std::byte* from = base_of(parent);
  std::byte* to = base_of(child);
  if (from == nullptr) return Errno::noexec;
  if (map.base) {
    for (const auto& segment : map.base->segments()) {
      CLOCHE_TRY(map_segment(to, segment, Sharing::private_copy, Access::read_write));
    }
    child.memory_map().base = map.base;
  }
  // Patches of the base are private pages of the parent, like all else that it wrote.
  CLOCHE_TRY(copy_runs(to, from, find_private_pages(from, map.growth ? map.growth_start : size)));
  if (map.growth && size > map.growth_start) {
    std::vector<PageRun> grown = find_file_data(map.growth->fd.get(), size - map.growth_origin);
    for (PageRun& run : grown) run.start += map.growth_origin;
    std::erase_if(grown, [&](PageRun& run) {
      const std::uint64_t start = std::max(run.start, map.growth_start);
      if (run.end() <= start) return true;
      run = {start, run.end() - start};
      return false;
    });
    CLOCHE_TRY(copy_runs(to, from, grown));
  }
  return write_globals(child, read_globals(parent));
}

Result<void> prepare_for_capture(Instance& instance) {
  MemoryMap& map = instance.memory_map();
  const std::uint64_t size = instance.mapped_memory().size();
  if (map.growth || base_of(instance) == nullptr || size >= address_space_bytes) return {};
  const std::uint64_t bytes = address_space_bytes - size;
  auto file = create_memory_file(bytes);
  if (!file) return file.error();
  // wasmtime has reserved all of this for the instance and makes it accessible as memory grows.
  CLOCHE_TRY(
      map_segment(base_of(instance), {size, bytes, 0, *file}, Sharing::shared, Access::none));
  map.growth = *file;
  map.growth_origin = size;
  map.growth_start = size;
  return {};
}

}  // namespace cloche::wasm
