// SPDX-License-Identifier: Apache-2.0
#include "wasm/packed_memory.h"

#include <sys/mman.h>

#include <array>
#include <cstring>
#include <new>
#include <span>

#include "wasm/image_memory.h"
#include "wasm/memory_image.h"
#include "wasm/memory_pieces.h"

namespace cloche::wasm {
namespace {

constexpr std::size_t page_bytes = 4096;  // of what is compared; a host's page is some of them
constexpr std::size_t page_words = page_bytes / sizeof(std::uint32_t);
// Two words that are the same cost as much as the head of another run.
constexpr std::size_t worth_a_run = 2;
// More is data rather than the state of a program: it is looked at for long, and differs all over.
constexpr std::uint64_t most_packed_bytes = std::uint64_t{8} << 20;

using Page = std::array<std::uint32_t, page_words>;
constexpr Page zeros{};

// The most that a page can take: its number, the count, and its words with a head for every third.
constexpr std::size_t most_words = 2 + page_words + page_words / (worth_a_run + 1) + 1;

void add_differences(std::vector<std::uint32_t>& to, std::uint64_t number, const Page& now,
                     const Page& before) {
  const std::size_t head = to.size();
  std::uint32_t runs = 0;
  for (std::size_t at = 0; at < page_words;) {
    if (now[at] == before[at]) {
      ++at;
      continue;
    }
    std::size_t end = at + 1;
    for (std::size_t same = 0, next = end; next < page_words && same < worth_a_run; ++next) {
      same = now[next] == before[next] ? same + 1 : 0;
      if (same == 0) end = next + 1;
    }
    if (runs++ == 0) {
      to.push_back(static_cast<std::uint32_t>(number));
      to.push_back(0);
    }
    to.push_back(static_cast<std::uint32_t>(at << 16 | (end - at)));
    to.insert(to.end(), now.begin() + static_cast<std::ptrdiff_t>(at),
              now.begin() + static_cast<std::ptrdiff_t>(end));
    at = end;
  }
  if (runs > 0) to[head + 1] = runs;
}

bool give_back(std::byte* base, const PageRun& run) noexcept {
  return madvise(base + run.start, run.length, MADV_DONTNEED) == 0;
}

// Of the growth file: its pages are there as long as the file has them.
bool give_back(const MemoryMap& map, const PageRun& run) noexcept {
  return punch_hole(*map.growth, run.start - map.growth_origin, run.length);
}

// Private pages differ from what lies under them, grown ones from zeros.
class Packer {
 public:
  Packer(const std::byte* base, std::uint64_t bytes) : base_(base) {
    words_.reserve(bytes / page_bytes * most_words);
  }

  void add(const PageRun& run) {
    for (std::uint64_t at = run.start; at < run.end(); at += page_bytes) add_page(at, zeros);
  }
  Result<void> add(const PageRun& run, const ImagePages& under) {
    std::uint64_t at = run.start;
    return under.read(run, buffer_, [&](std::span<const std::byte> part) -> Result<void> {
      Page before;
      for (; !part.empty(); part = part.subspan(page_bytes), at += page_bytes) {
        std::memcpy(before.data(), part.data(), page_bytes);
        add_page(at, before);
      }
      return {};
    });
  }
  std::vector<std::uint32_t> take() {
    words_.shrink_to_fit();
    return std::move(words_);
  }

 private:
  void add_page(std::uint64_t at, const Page& before) {
    Page now;
    std::memcpy(now.data(), base_ + at, page_bytes);
    add_differences(words_, at / page_bytes, now, before);
  }

  const std::byte* base_;
  std::vector<std::uint32_t> words_;
  std::array<std::byte, 16 * page_bytes> buffer_{};
};

bool can_be_looked_at(Instance& instance) noexcept {
  const MemoryMap& map = instance.memory_map();
  if (map.packed || instance.depth() > 0 || !instance.has_memory_of_its_own()) return false;
  finish_mapping(instance, Before::anyone_looks);
  return !map.lost;
}

// It has a base, and memory that is it but for private pages, parts with a file and those that grew.
bool can_be_packed(Instance& instance) noexcept {
  const MemoryMap& map = instance.memory_map();
  return can_be_looked_at(instance) && map.base && !map.pieced;
}

// Where something else is mapped than `to` has, or may be: what that has there.
std::vector<MemoryPiece> pieces_to_map(const MemoryMap& map, const MemoryImage& to,
                                       std::uint64_t size) {
  const std::vector<MemoryPiece> wanted = pieces_of(to.segments(), size);
  std::vector<MemoryPiece> pieces = changed_pieces(pieces_of(map.base->segments(), size), wanted);
  std::vector<PageRun> others = map.stale;
  for (const RewrittenPart& part : map.rewritten) others.push_back(part.run);
  others = pages_without(join_runs(std::move(others)), runs_of(pieces));
  const std::vector<MemoryPiece> more = parts_within(wanted, others);
  pieces.insert(pieces.end(), more.begin(), more.end());
  return pieces;
}

}  // namespace

bool pack_memory(Instance& instance) noexcept try {
  if (!can_be_packed(instance)) return false;
  MemoryMap& map = instance.memory_map();
  // Under private pages there may be something else than the base says, or parts are files.
  if (!map.stale.empty() || !map.rewritten.empty()) return false;
  std::byte* base = instance.mapped_memory().base();
  const std::uint64_t size = instance.mapped_memory().size();
  const std::uint64_t own_end = map.growth ? map.growth_start : size;
  const auto own = known_private_pages(base, own_end);
  if (!own) return false;
  const std::vector<PageRun> grown =
      map.growth ? find_growth_data(map, size) : std::vector<PageRun>();
  const std::uint64_t bytes = bytes_of(*own) + bytes_of(grown);
  if (bytes == 0 || bytes > most_packed_bytes) return false;

  Packer packer(base, bytes);
  const ImagePages under(map.base->segments(), own_end);
  for (const PageRun& run : *own) {
    if (!packer.add(run, under)) return false;
  }
  for (const PageRun& run : grown) packer.add(run);
  map.packed = std::make_shared<PackedMemory>(packer.take());
  // What the host does not take stays: it is written over with what it is.
  for (const PageRun& run : *own) (void)give_back(base, run);
  for (const PageRun& run : grown) (void)give_back(map, run);
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

void give_back_unused(Instance& instance, const std::vector<PageRun>& unused) noexcept try {
  MemoryMap& map = instance.memory_map();
  if (unused.empty() || !can_be_looked_at(instance)) return;
  std::byte* base = instance.mapped_memory().base();
  const std::uint64_t size = instance.mapped_memory().size();
  const std::uint64_t own_end = map.growth ? map.growth_start : size;
  if (map.growth && own_end < size) {
    for (const PageRun& run : common_pages(unused, {{own_end, size - own_end}}))
      (void)give_back(map, run);
  }
  for (const RewrittenPart& part : map.rewritten) {
    for (const PageRun& run : common_pages(unused, {part.run}))
      (void)punch_hole(*part.file, run.start - part.run.start, run.length);
  }
  if (!map.base || map.pieced) return;
  for (const MemoryPiece& piece : pieces_of(map.base->segments(), own_end)) {
    if (piece.file != nullptr) continue;
    for (const PageRun& run : pages_without(common_pages(unused, {piece.run}), map.stale))
      (void)give_back(base, run);
  }
} catch (const std::bad_alloc&) {
  return;
}

std::shared_ptr<const PackedImage> pack_as_image(Instance& instance,
                                                 const std::vector<PageRun>& unused) noexcept try {
  MemoryMap& map = instance.memory_map();
  if (map.growth || !can_be_packed(instance)) return nullptr;
  auto image = std::make_shared<PackedImage>();
  image->first = map.base->first();
  std::byte* base = instance.mapped_memory().base();
  const std::uint64_t size = instance.mapped_memory().size();
  if (!image->first->patches().empty() || image->first->memory_bytes() > size) return nullptr;
  const auto own = known_private_pages(base, size);
  if (!own) return nullptr;
  const std::vector<MemoryPiece> pieces = pieces_to_map(map, *image->first, size);
  std::vector<PageRun> others = runs_of(pieces);
  others.insert(others.end(), own->begin(), own->end());
  others = pages_without(join_runs(std::move(others)), unused);
  if (bytes_of(others) > most_packed_bytes) return nullptr;

  Packer packer(base, bytes_of(others));
  const ImagePages under(image->first->segments(), size);
  for (const PageRun& run : others) {
    if (!packer.add(run, under)) return nullptr;
  }
  image->pages.words = packer.take();
  image->memory_bytes = size;
  image->globals = read_globals(instance);
  if (!map_pieces(base, pieces)) {
    // What differs from the base that it still has is private again.
    unpack_memory(base, image->pages);
    map.pieced = true;
    return nullptr;
  }
  for (const PageRun& run : *own) (void)give_back(base, run);
  map.stale.clear();
  map.rewritten.clear();
  map.base = image->first;
  map.packed = {image, &image->pages};
  return image;
} catch (const std::bad_alloc&) {
  return nullptr;
}

Result<void> map_packed(const std::shared_ptr<const PackedImage>& image, Instance& instance) {
  CLOCHE_TRY(grow_to(instance, image->memory_bytes));
  CLOCHE_TRY(write_globals(instance, image->globals));
  instance.memory_map().packed = {image, &image->pages};
  return {};
}

void unpack_memory(std::byte* base, const PackedMemory& packed) noexcept {
  std::span<const std::uint32_t> left = packed.words;
  const auto take = [&left] {
    const std::uint32_t word = left.front();
    left = left.subspan(1);
    return word;
  };
  while (!left.empty()) {
    std::byte* const page = base + std::uint64_t{take()} * page_bytes;
    for (std::uint32_t runs = take(); runs > 0; --runs) {
      const std::uint32_t head = take();
      const std::size_t count = head & 0xffff;
      std::memcpy(page + (head >> 16) * sizeof(std::uint32_t), left.data(),
                  count * sizeof(std::uint32_t));
      left = left.subspan(count);
    }
  }
}

}  // namespace cloche::wasm
