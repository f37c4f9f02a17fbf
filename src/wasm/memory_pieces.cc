// SPDX-License-Identifier: Apache-2.0
#include "wasm/memory_pieces.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "wasm/image_memory.h"

namespace cloche::wasm {
namespace {

bool is_same_content(const MemoryPiece& a, const MemoryPiece& b) noexcept {
  return a.file == b.file &&
         (a.file == nullptr || a.offset - a.run.start == b.offset - b.run.start);
}

// What `piece` leaves of those before it, and it.
std::vector<MemoryPiece> laid_over(const std::vector<MemoryPiece>& below,
                                   const MemoryPiece& piece) {
  std::vector<MemoryPiece> all;
  all.reserve(below.size() + 2);
  bool is_placed = false;
  for (const MemoryPiece& old : below) {
    if (old.run.start < piece.run.start) {
      const std::uint64_t end = std::min(old.run.end(), piece.run.start);
      all.push_back(old.part(old.run.start, end - old.run.start));
    }
    if (!is_placed && old.run.end() > piece.run.start) {
      all.push_back(piece);
      is_placed = true;
    }
    const std::uint64_t start = std::max(old.run.start, piece.run.end());
    if (start < old.run.end()) all.push_back(old.part(start, old.run.end() - start));
  }
  return all;
}

Result<void> read_piece(std::byte* to, const MemoryPiece& piece) {
  if (piece.file == nullptr) std::memset(to, 0, piece.run.length);
  for (std::uint64_t done = 0; piece.file != nullptr && done < piece.run.length;) {
    const ssize_t got = pread(piece.file->fd.get(), to + done, piece.run.length - done,
                              static_cast<off_t>(piece.offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_from_host(errno);
    if (got == 0) return Errno::io;
    done += static_cast<std::uint64_t>(got);
  }
  return {};
}

const std::byte* mapped_at(const MemoryPiece& piece) noexcept {
  const MemoryFile* file = piece.file;
  const bool is_mapped = file != nullptr && file->mapped != nullptr &&
                         piece.offset + piece.run.length <= file->mapped_bytes;
  return is_mapped ? file->mapped + piece.offset : nullptr;
}

// The parts of `pieces` that `run` has, one after the other, from the piece at `at` on, which is
// moved to the last.
template <typename Take>
Result<void> for_each_part(const std::vector<MemoryPiece>& pieces,
                           std::vector<MemoryPiece>::const_iterator& at, const PageRun& run,
                           Take take) {
  for (std::uint64_t start = run.start; start < run.end();) {
    while (at != pieces.end() && at->run.end() <= start) ++at;
    if (at == pieces.end() || at->run.start > start) return Errno::inval;
    const MemoryPiece part = at->part(start, std::min(at->run.end(), run.end()) - start);
    CLOCHE_TRY(take(part));
    start = part.run.end();
  }
  return {};
}

std::vector<MemoryImage::Segment> all_parts(const MemoryImage& image) {
  std::vector<MemoryImage::Segment> parts = image.segments();
  parts.insert(parts.end(), image.patches().begin(), image.patches().end());
  return parts;
}

}  // namespace

std::vector<MemoryPiece> pieces_of(const std::vector<MemoryImage::Segment>& segments,
                                   std::uint64_t bytes) {
  std::vector<MemoryPiece> pieces;
  if (bytes == 0) return pieces;
  pieces.push_back({{0, bytes}, nullptr, 0});
  for (const MemoryImage::Segment& segment : segments) {
    if (segment.address >= bytes || segment.length == 0) continue;
    const std::uint64_t length = std::min(segment.length, bytes - segment.address);
    pieces = laid_over(pieces, {{segment.address, length}, segment.file.get(), segment.offset});
  }
  return pieces;
}

std::vector<MemoryPiece> changed_pieces(const std::vector<MemoryPiece>& from,
                                        const std::vector<MemoryPiece>& to) {
  std::vector<MemoryPiece> changed;
  const auto add = [&](const MemoryPiece& piece) {
    if (!changed.empty() && changed.back().run.end() == piece.run.start &&
        is_same_content(changed.back(), piece)) {
      changed.back().run.length += piece.run.length;
    } else {
      changed.push_back(piece);
    }
  };
  auto old = from.begin();
  for (const MemoryPiece& piece : to) {
    for (std::uint64_t at = piece.run.start; at < piece.run.end();) {
      while (old != from.end() && old->run.end() <= at) ++old;
      const std::uint64_t end =
          old == from.end() ? piece.run.end() : std::min(old->run.end(), piece.run.end());
      if (old == from.end() || !is_same_content(*old, piece)) add(piece.part(at, end - at));
      at = end;
    }
  }
  return changed;
}

std::vector<PageRun> runs_of(const std::vector<MemoryPiece>& pieces) {
  std::vector<PageRun> runs;
  for (const MemoryPiece& piece : pieces) runs.push_back(piece.run);
  return runs;
}

std::vector<MemoryPiece> parts_within(const std::vector<MemoryPiece>& pieces,
                                      const std::vector<PageRun>& runs) {
  std::vector<MemoryPiece> parts;
  for (const MemoryPiece& piece : pieces)
    for (const PageRun& run : common_pages(runs, {piece.run}))
      parts.push_back(piece.part(run.start, run.length));
  return parts;
}

Result<void> map_pieces(std::byte* base, const std::vector<MemoryPiece>& pieces) {
  for (const MemoryPiece& piece : pieces) {
    const int kind = piece.file == nullptr ? MAP_ANONYMOUS : 0;
    const int fd = piece.file == nullptr ? -1 : piece.file->fd.get();
    if (mmap(base + piece.run.start, piece.run.length, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE | kind, fd,
             static_cast<off_t>(piece.offset)) == MAP_FAILED)
      return errno_from_host(errno);
  }
  return {};
}

Result<void> read_pieces(std::byte* base, const std::vector<MemoryPiece>& pieces,
                         const std::vector<PageRun>& runs) {
  auto at = pieces.begin();
  for (const PageRun& run : runs) {
    CLOCHE_TRY(for_each_part(pieces, at, run, [&](const MemoryPiece& part) {
      return read_piece(base + part.run.start, part);
    }));
  }
  return {};
}

ImagePages::ImagePages(const MemoryImage& image)
    : pieces_(pieces_of(all_parts(image), image.memory_bytes())) {}

Result<void> ImagePages::read(const PageRun& run, std::span<std::byte> buffer,
                              const Take& take) const {
  auto at = std::ranges::lower_bound(pieces_, run.start, {},
                                     [](const MemoryPiece& piece) { return piece.run.end() - 1; });
  return for_each_part(pieces_, at, run, [&](const MemoryPiece& whole) -> Result<void> {
    if (const std::byte* mapped = mapped_at(whole)) return take({mapped, whole.run.length});
    for (std::uint64_t start = whole.run.start; start < whole.run.end();) {
      const MemoryPiece part =
          whole.part(start, std::min<std::uint64_t>(whole.run.end() - start, buffer.size()));
      CLOCHE_TRY(read_piece(buffer.data(), part));
      CLOCHE_TRY(take(buffer.first(part.run.length)));
      start = part.run.end();
    }
    return {};
  });
}

}  // namespace cloche::wasm
