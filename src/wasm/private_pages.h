// SPDX-License-Identifier: Apache-2.0
// Which pages of a private mapping were written: they are anonymous, the others are the file's or
// not there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace cloche::wasm {

// Page-aligned, in bytes from the start of linear memory.
struct PageRun {
  std::uint64_t start;
  std::uint64_t length;

  std::uint64_t end() const noexcept { return start + length; }
};

std::uint64_t host_page_bytes() noexcept;

// The written pages among `bytes` at `base`, sorted, neighbours joined. May name a page that was
// not written (where the kernel cannot tell), never misses one. `base` and `bytes` are page-aligned
// and mapped; nobody may write meanwhile.
std::vector<PageRun> find_private_pages(const std::byte* base, std::uint64_t bytes);

// The same, exactly those that may have been written; nothing where the kernel does not tell.
std::optional<std::vector<PageRun>> known_private_pages(const std::byte* base, std::uint64_t bytes);

// Opens /proc/self/pagemap, by which the kernel is asked. The first question does it too; a process
// that hides its memory (PR_SET_DUMPABLE) does it before.
void open_page_table() noexcept;

// The two ways to ask the kernel, for tests; false when this kernel does not offer it.
bool scan_private_pages(const std::byte* base, std::uint64_t bytes, std::vector<PageRun>& runs);
bool read_pagemap(const std::byte* base, std::uint64_t bytes, std::vector<PageRun>& runs);

std::uint64_t bytes_of(const std::vector<PageRun>& runs) noexcept;

// The pages that are in both, and those of `a` that are not in `b`; each sorted and disjoint.
std::vector<PageRun> common_pages(const std::vector<PageRun>& a, const std::vector<PageRun>& b);
std::vector<PageRun> pages_without(const std::vector<PageRun>& a, const std::vector<PageRun>& b);

// The parts of a file up to `bytes` that are not holes.
std::vector<PageRun> find_file_data(int fd, std::uint64_t bytes);

}  // namespace cloche::wasm
