// SPDX-License-Identifier: Apache-2.0
// Mapping files over linear memory, and moving pages between memory and files. For MemoryImage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "wasm/memory_image.h"
#include "wasm/private_pages.h"

namespace cloche::wasm {

Result<std::shared_ptr<const MemoryFile>> create_memory_file(std::uint64_t bytes);
// The same, as a descriptor.
Result<UniqueFd> open_memory_file(std::uint64_t bytes);

// Gives a part of the file back: it reads as zeros. False where the host refuses.
bool punch_hole(const MemoryFile& file, std::uint64_t offset, std::uint64_t length) noexcept;

enum class Sharing : std::uint8_t { private_copy, shared };
enum class Access : std::uint8_t { none, read_write };

// The exported globals that can change.
std::vector<MemoryImage::Global> read_globals(const Instance& instance);
Result<void> write_globals(Instance& instance, const std::vector<MemoryImage::Global>& globals);

// ENOEXEC where its memory is larger already.
Result<void> grow_to(Instance& instance, std::uint64_t bytes);

// Maps the segment's part of its file at `base` + its address.
Result<void> map_segment(std::byte* base, const MemoryImage::Segment& segment, Sharing sharing,
                         Access access);

// All of them, private and accessible.
Result<void> map_segments(std::byte* base, const std::vector<MemoryImage::Segment>& segments);

// Gathers `runs` of memory into the file, one after the other from `offset` on.
Result<void> write_runs(const MemoryFile& file, std::uint64_t offset, const std::byte* base,
                        const std::vector<PageRun>& runs);

// The other way: the patches lie one after the other in their file.
Result<void> read_patches(std::byte* base, const std::vector<MemoryImage::Segment>& patches);

// Copies runs between two memories of one process. True: it has mapped empty pages over parts of
// `to` on the way.
Result<bool> copy_runs(std::byte* to, const std::byte* from, const std::vector<PageRun>& runs);

// Sorted and joined.
std::vector<PageRun> join_runs(std::vector<PageRun> runs);

// The pages of the growth file, from `growth_start` up to `size` of memory, that anyone touched.
std::vector<PageRun> find_growth_data(const MemoryMap& map, std::uint64_t size);

// Those pages among `bytes` that are not all zero.
std::vector<PageRun> find_nonzero_pages(const std::byte* base, std::uint64_t bytes);

}  // namespace cloche::wasm
