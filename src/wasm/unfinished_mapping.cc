// SPDX-License-Identifier: Apache-2.0
#include "wasm/unfinished_mapping.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <utility>

#include "wasm/image_memory.h"
#include "wasm/packed_memory.h"
#include "wasm/page_files.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

namespace cloche::wasm {
namespace {

using Part = UnfinishedMapping::Part;

// Its files may be mapped where nobody knows it.
void never_rest(const MemoryImage& image) noexcept {
  for (const auto* parts : {&image.segments(), &image.patches()})
    for (const MemoryImage::Segment& segment : *parts) wasm::never_rest(segment.file);
}

// A copy in a file of its own, in place of what is there. Where there is no memory for one, what is
// there stays.
Result<void> give_own_file(std::byte* base, const MemoryImage::Segment& segment,
                           std::vector<RewrittenPart>& parts) noexcept try {
  parts.reserve(parts.size() + 1);
  CLOCHE_ASSIGN(auto file, copy_to_file(base, {{segment.address, segment.length}}));
  CLOCHE_TRY(map_segment(base, {segment.address, segment.length, 0, file}, Sharing::shared,
                         Access::read_write));
  // Of a shared mapping this makes the pages writable too, many at a time.
  (void)madvise(base + segment.address, segment.length, MADV_POPULATE_READ);
  parts.push_back({{segment.address, segment.length}, std::move(file)});
  return {};
} catch (const std::bad_alloc&) {
  return Errno::nomem;
}

// A host that looks may be about to end it.
Result<void> put_in_place(std::byte* base, const Part& part, Before what,
                          std::vector<RewrittenPart>& parts) {
  if (part.written == Part::Written::again && what == Before::the_guest_runs &&
      give_own_file(base, part.segment, parts))
    return {};
  return map_segment(base, part.segment, Sharing::private_copy, Access::read_write);
}

void note_stale(MemoryMap& map, const std::vector<PageRun>& runs) noexcept try {
  std::vector<PageRun> stale = map.stale;
  stale.insert(stale.end(), runs.begin(), runs.end());
  map.stale = join_runs(std::move(stale));
} catch (const std::bad_alloc&) {
  map.pieced = true;
}

void do_unfinished(Instance& instance, Before what) noexcept {
  using enum UnfinishedMapping::Patches;
  MemoryMap& map = instance.memory_map();
  const auto work = std::move(map.unfinished);
  std::byte* base = instance.mapped_memory().base();
  note_stale(map, work->dropped);
  // Their files are the base's now, or all of memory is copied.
  const std::vector<RewrittenPart> before = std::exchange(map.rewritten, {});
  // There is no going on without these: others may have the files mapped already.
  bool good = work->patches != missing || read_patches(base, map.base->patches()).ok();
  for (const Part& part : work->frozen) {
    good = good && put_in_place(base, part, what, map.rewritten).ok();
    if (part.segment.file == map.growth)
      map.growth_start = part.segment.address + part.segment.length;
  }
  map.lost = !good;
  if (!good) return;
  // Without these memory is right as it is, but the next image has to copy all of it.
  for (const Part& part : work->copied)
    good = good && put_in_place(base, part, what, map.rewritten).ok();
  if (work->patches == only_made_private)
    good = good && read_patches(base, map.base->patches()).ok();
  if (good) return;
  if (work->before) never_rest(*work->before);
  never_rest(*map.base);
  for (const RewrittenPart& part : before) wasm::never_rest(part.file);
  map.base = nullptr;
  map.base_unknown = true;
}

}  // namespace

void UnfinishedMappingDeleter::operator()(UnfinishedMapping* p) const noexcept { delete p; }

void finish_mapping(Instance& instance, Before what) noexcept {
  MemoryMap& map = instance.memory_map();
  if (map.unfinished) do_unfinished(instance, what);
  if (const auto packed = std::move(map.packed); packed && !map.lost)
    unpack_memory(instance.mapped_memory().base(), *packed);
}

}  // namespace cloche::wasm
