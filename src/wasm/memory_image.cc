// SPDX-License-Identifier: Apache-2.0
#include "wasm/memory_image.h"

#include <algorithm>

#include "base/check.h"
#include "wasm/image_memory.h"
#include "wasm/page_size.h"
#include "wasm/private_pages.h"
#include "wasm/unfinished_mapping.h"

namespace cloche::wasm {
namespace {

// How much of the end of memory may be in use for it to be a free tail, and how long it must be to
// be worth a mapping.
constexpr std::uint64_t max_tail_pages = 64;
constexpr std::uint64_t min_tail_bytes = std::uint64_t{1} << 20;

// More of it than this written already: the tail stays where it is.
constexpr std::uint64_t max_moved_pages = 256;

std::byte* base_of(Instance& instance) { return instance.mapped_memory().base(); }

}  // namespace

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

void MemoryImage::follow(const MemoryImage& base) noexcept {
  before_ = base.weak_from_this();
  first_ = base.before_.expired() && base.first_.expired() ? before_ : base.first_;
}

std::shared_ptr<const MemoryImage> MemoryImage::first() const noexcept {
  auto first = first_.lock();
  return first ? first : shared_from_this();
}

void MemoryImage::seal() {
  MemoryContent::PutPages put_pages;
  // The next image of its guest takes over what the first guest that begins with it leaves.
  if (!before_.expired())
    put_pages = [this](std::byte* base, const std::vector<PageRun>& runs) {
      return this->put_pages(base, runs);
    };
  content_.emplace(
      memory_bytes_,
      [this](std::byte* base) {
        return map_segments(base, segments_).ok() && read_patches(base, patches_).ok();
      },
      patched_runs(), std::move(put_pages));
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
    map.growth_origin = warmth->growth_origin;
    map.growth_start = warmth->growth_start;
    return {};
  }
  CLOCHE_TRY(map_segments(base_of(instance), segments_));
  map.base = shared_from_this();
  if (!patches_.empty())
    map.unfinished.reset(new UnfinishedMapping{.patches = UnfinishedMapping::Patches::missing});
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
  std::vector<PageRun> shared;
  if (map.growth && size > map.growth_start) shared = find_growth_data(map, size);
  for (const RewrittenPart& part : map.rewritten) shared.push_back(part.run);
  CLOCHE_ASSIGN(pieced, copy_runs(to, from, shared));
  own.pieced = own.pieced || pieced;
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
