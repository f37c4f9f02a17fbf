// SPDX-License-Identifier: Apache-2.0
#include "wasm/private_pages.h"

#include <fcntl.h>
#include <linux/types.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/unique_fd.h"

namespace cloche::wasm {
namespace {

// PAGEMAP_SCAN (Linux 6.7) as the kernel defines it; the headers of Debian 12 are older.
struct PageRegion {
  __u64 start, end, categories;
};
struct ScanArguments {
  __u64 size, flags, start, end, walk_end, vec, vec_len, max_pages;
  __u64 category_inverted, category_mask, category_anyof_mask, return_mask;
};
constexpr unsigned long pagemap_scan = _IOWR('f', 16, ScanArguments);
constexpr __u64 page_is_file = 1 << 2, page_is_present = 1 << 3, page_is_swapped = 1 << 4,
                page_is_zero = 1 << 5;

// /proc/self/pagemap, one word a page.
constexpr std::uint64_t map_present = std::uint64_t{1} << 63, map_swapped = std::uint64_t{1} << 62,
                        map_file = std::uint64_t{1} << 61;

UniqueFd open_pagemap() { return UniqueFd(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)); }

// Opened once: a process keeps its address space.
int pagemap() {
  static const UniqueFd fd = open_pagemap();
  return fd.get();
}

void add(std::vector<PageRun>& runs, std::uint64_t start, std::uint64_t length) {
  if (!runs.empty() && runs.back().end() == start) {
    runs.back().length += length;
  } else {
    runs.push_back({start, length});
  }
}

}  // namespace

std::uint64_t host_page_bytes() noexcept {
  static const auto bytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

void open_page_table() noexcept { (void)pagemap(); }

bool scan_private_pages(const std::byte* base, std::uint64_t bytes, std::vector<PageRun>& runs) {
  if (pagemap() < 0) return false;
  std::array<PageRegion, 256> regions;
  const auto first = reinterpret_cast<__u64>(base);
  ScanArguments arguments{};
  arguments.size = sizeof(arguments);
  arguments.start = first;
  arguments.end = first + bytes;
  arguments.vec = reinterpret_cast<__u64>(regions.data());
  arguments.vec_len = regions.size();
  arguments.category_inverted = page_is_file | page_is_zero;
  arguments.category_mask = page_is_file | page_is_zero;
  arguments.category_anyof_mask = page_is_present | page_is_swapped;
  arguments.return_mask = page_is_file;  // always 0 here, so neighbours come as one region
  while (arguments.start < arguments.end) {
    const int count = ioctl(pagemap(), pagemap_scan, &arguments);
    if (count < 0 || arguments.walk_end <= arguments.start) {
      runs.clear();
      return false;
    }
    for (int i = 0; i < count; ++i) {
      const PageRegion& region = regions[static_cast<std::size_t>(i)];
      add(runs, region.start - first, region.end - region.start);
    }
    arguments.start = arguments.walk_end;
  }
  return true;
}

bool read_pagemap(const std::byte* base, std::uint64_t bytes, std::vector<PageRun>& runs) {
  if (pagemap() < 0) return false;
  const std::uint64_t page = host_page_bytes();
  const std::uint64_t first = reinterpret_cast<std::uint64_t>(base) / page;
  const std::uint64_t count = bytes / page;
  std::array<std::uint64_t, 512> words;
  for (std::uint64_t done = 0; done < count;) {
    const std::uint64_t want = std::min<std::uint64_t>(words.size(), count - done);
    const ssize_t got = pread(pagemap(), words.data(), want * sizeof(words[0]),
                              static_cast<off_t>((first + done) * sizeof(words[0])));
    if (got != static_cast<ssize_t>(want * sizeof(words[0]))) {
      runs.clear();
      return false;
    }
    for (std::uint64_t i = 0; i < want; ++i) {
      if ((words[i] & (map_present | map_swapped)) == 0 || (words[i] & map_file) != 0) continue;
      add(runs, (done + i) * page, page);
    }
    done += want;
  }
  return true;
}

std::optional<std::vector<PageRun>> known_private_pages(const std::byte* base,
                                                        std::uint64_t bytes) {
  std::vector<PageRun> runs;
  if (bytes == 0 || scan_private_pages(base, bytes, runs) || read_pagemap(base, bytes, runs))
    return runs;
  return std::nullopt;
}

std::vector<PageRun> find_private_pages(const std::byte* base, std::uint64_t bytes) {
  if (auto runs = known_private_pages(base, bytes)) return *std::move(runs);
  return {{0, bytes}};
}

std::uint64_t bytes_of(const std::vector<PageRun>& runs) noexcept {
  std::uint64_t bytes = 0;
  for (const PageRun& run : runs) bytes += run.length;
  return bytes;
}

std::vector<PageRun> common_pages(const std::vector<PageRun>& a, const std::vector<PageRun>& b) {
  std::vector<PageRun> common;
  for (auto left = a.begin(), right = b.begin(); left != a.end() && right != b.end();) {
    const std::uint64_t start = std::max(left->start, right->start);
    const std::uint64_t end = std::min(left->end(), right->end());
    if (start < end) common.push_back({start, end - start});
    left->end() < right->end() ? ++left : ++right;
  }
  return common;
}

std::vector<PageRun> pages_without(const std::vector<PageRun>& a, const std::vector<PageRun>& b) {
  std::vector<PageRun> rest;
  auto taken = b.begin();
  for (PageRun run : a) {
    while (taken != b.end() && taken->end() <= run.start) ++taken;
    for (auto next = taken; next != b.end() && next->start < run.end(); ++next) {
      if (next->start > run.start) rest.push_back({run.start, next->start - run.start});
      const std::uint64_t from = std::min(next->end(), run.end());
      run = {from, run.end() - from};
    }
    if (run.length > 0) rest.push_back(run);
  }
  return rest;
}

std::vector<PageRun> find_file_data(int fd, std::uint64_t bytes) {
  std::vector<PageRun> runs;
  const std::uint64_t page = host_page_bytes();
  for (std::uint64_t at = 0; at < bytes;) {
    const off_t data = lseek(fd, static_cast<off_t>(at), SEEK_DATA);
    if (data < 0 || static_cast<std::uint64_t>(data) >= bytes) break;
    const off_t hole = lseek(fd, data, SEEK_HOLE);
    if (hole < 0) break;
    const std::uint64_t start = static_cast<std::uint64_t>(data) / page * page;
    const std::uint64_t end =
        std::min((static_cast<std::uint64_t>(hole) + page - 1) / page * page, bytes);
    add(runs, start, end - start);
    at = end;
  }
  return runs;
}

}  // namespace cloche::wasm
