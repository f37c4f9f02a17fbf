// SPDX-License-Identifier: Apache-2.0
#include "wasm/image_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "wasm/page_files.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace cloche::wasm {
namespace {

constexpr std::size_t batch = 512;  // of IOV_MAX = 1024

// Moves all the bytes of `parts` with `move` (preadv or pwritev), which may do less at a time than
// it was asked.
template <typename Move>
Result<void> move_all(std::vector<iovec>& parts, std::uint64_t offset, Move move) {
  std::size_t first = 0;
  while (first < parts.size()) {
    const auto count = static_cast<int>(std::min(batch, parts.size() - first));
    const ssize_t moved = move(parts.data() + first, count, static_cast<off_t>(offset));
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0) return errno_from_host(errno);
    if (moved == 0) return Errno::io;
    offset += static_cast<std::uint64_t>(moved);
    auto left = static_cast<std::size_t>(moved);
    while (left > 0) {
      iovec& part = parts[first];
      const std::size_t step = std::min(left, part.iov_len);
      part.iov_base = static_cast<std::byte*>(part.iov_base) + step;
      part.iov_len -= step;
      left -= step;
      if (part.iov_len == 0) ++first;
    }
  }
  return {};
}

}  // namespace

bool punch_hole(const MemoryFile& file, std::uint64_t offset, std::uint64_t length) noexcept {
  return fallocate(file.fd.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                   static_cast<off_t>(offset), static_cast<off_t>(length)) == 0;
}

Result<UniqueFd> open_memory_file(std::uint64_t bytes) {
  UniqueFd fd(memfd_create("cloche-memory", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd && (errno == EMFILE || errno == ENFILE)) {
    MemoryContent::give_back_all();  // some of them have files
    give_back_page_files();
    fd.reset(memfd_create("cloche-memory", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  }
  // Nothing can take its pages away under a mapping.
  if (!fd || ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0 ||
      fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return errno_from_host(errno);
  return fd;
}

Result<std::shared_ptr<const MemoryFile>> create_memory_file(std::uint64_t bytes) {
  auto file = std::make_shared<MemoryFile>();
  CLOCHE_ASSIGN(file->fd, open_memory_file(bytes));
  return std::shared_ptr<const MemoryFile>(std::move(file));
}

Result<void> map_segment(std::byte* base, const MemoryImage::Segment& segment, Sharing sharing,
                         Access access) {
  const int protection = access == Access::none ? PROT_NONE : PROT_READ | PROT_WRITE;
  const int kind = sharing == Sharing::shared ? MAP_SHARED : MAP_PRIVATE;
  void* at =
      mmap(base + segment.address, segment.length, protection, kind | MAP_FIXED | MAP_NORESERVE,
           segment.file->fd.get(), static_cast<off_t>(segment.offset));
  if (at == MAP_FAILED) return errno_from_host(errno);
  return {};
}

Result<void> map_segments(std::byte* base, const std::vector<MemoryImage::Segment>& segments) {
  for (const MemoryImage::Segment& segment : segments) {
    CLOCHE_TRY(map_segment(base, segment, Sharing::private_copy, Access::read_write));
  }
  return {};
}

Result<void> write_runs(const MemoryFile& file, std::uint64_t offset, const std::byte* base,
                        const std::vector<PageRun>& runs) {
  std::vector<iovec> parts;
  parts.reserve(runs.size());
  for (const PageRun& run : runs) {
    parts.push_back(
        {const_cast<std::byte*>(base) + run.start, static_cast<std::size_t>(run.length)});
  }
  return move_all(parts, offset, [&](const iovec* part, int count, off_t at) {
    return pwritev(file.fd.get(), part, count, at);
  });
}

Result<void> read_patches(std::byte* base, const std::vector<MemoryImage::Segment>& patches) {
  if (patches.empty()) return {};
  std::vector<iovec> parts;
  parts.reserve(patches.size());
  for (const auto& patch : patches) {
    parts.push_back({base + patch.address, static_cast<std::size_t>(patch.length)});
  }
  const int fd = patches.front().file->fd.get();
  return move_all(parts, patches.front().offset, [&](const iovec* part, int count, off_t at) {
    return preadv(fd, part, count, at);
  });
}

Result<bool> copy_runs(std::byte* to, const std::byte* from, const std::vector<PageRun>& runs) {
  const std::uint64_t page = host_page_bytes();
  std::size_t new_mappings = 0;
  for (const PageRun& run : runs) {
    std::byte* start = to + run.start;
    // The kernel need not copy what is overwritten at once: for a long run an empty mapping is
    // worth its price.
    if (run.length >= 32 * page && new_mappings < MemoryImage::max_segments) {
      void* at = mmap(start, run.length, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
      if (at == MAP_FAILED) return errno_from_host(errno);
      ++new_mappings;
    }
    // One call instead of a fault for each page; where it is refused the faults do it.
    if (run.length > page) madvise(start, run.length, MADV_POPULATE_WRITE);
    std::memcpy(start, from + run.start, run.length);
  }
  return new_mappings > 0;
}

std::vector<PageRun> join_runs(std::vector<PageRun> runs) {
  std::ranges::sort(runs, {}, &PageRun::start);
  std::vector<PageRun> joined;
  for (const PageRun& run : runs) {
    if (run.length == 0) continue;
    if (!joined.empty() && run.start <= joined.back().end()) {
      joined.back().length = std::max(joined.back().end(), run.end()) - joined.back().start;
    } else {
      joined.push_back(run);
    }
  }
  return joined;
}

std::vector<PageRun> find_growth_data(const MemoryMap& map, std::uint64_t size) {
  std::vector<PageRun> runs = find_file_data(map.growth->fd.get(), size - map.growth_origin);
  std::erase_if(runs, [&](PageRun& run) {
    const std::uint64_t end = run.end() + map.growth_origin;
    const std::uint64_t start = std::max(run.start + map.growth_origin, map.growth_start);
    if (end <= start) return true;
    run = {start, end - start};
    return false;
  });
  return runs;
}

std::vector<PageRun> find_nonzero_pages(const std::byte* base, std::uint64_t bytes) {
  std::vector<PageRun> runs;
  const std::uint64_t page = host_page_bytes();
  for (std::uint64_t at = 0; at < bytes; at += page) {
    const std::byte* start = base + at;
    // Equal to itself one byte further and zero at the start: zero throughout.
    if (*start == std::byte{0} && std::memcmp(start, start + 1, page - 1) == 0) continue;
    if (!runs.empty() && runs.back().end() == at) {
      runs.back().length += page;
    } else {
      runs.push_back({at, page});
    }
  }
  return runs;
}

}  // namespace cloche::wasm
