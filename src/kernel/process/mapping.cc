// SPDX-License-Identifier: Apache-2.0
#include "kernel/process/mapping.h"

#include <algorithm>

#include "kernel/process/task.h"

namespace cloche::kernel {
namespace {

void write_back(const wasm::GuestMemory& memory, std::uint64_t start, std::uint64_t end,
                const SharedMapping& shared, std::uint64_t file_offset) {
  const Result<vfs::Stat> stat = shared.node.stat();
  if (!stat || file_offset >= stat->size) return;
  const std::uint64_t length = std::min(end - start, stat->size - file_offset);
  const auto bytes = memory.slice(static_cast<std::uint32_t>(start), length);
  const auto io = shared.node.fs().open(shared.node.ino(), vfs::Access::write);
  if (!bytes || !io) return;
  (void)(*io)->write(file_offset, *bytes);
}

}  // namespace

void write_back_mappings(Task& task, std::uint64_t start, std::uint64_t end) noexcept {
  const wasm::GuestMemory memory = task.instance().memory();
  for (const auto& [region_start, region] : task.owner().memory.regions()) {
    if (!region.shared || region.end <= start || region_start >= end) continue;
    const std::uint64_t from = std::max(start, region_start);
    write_back(memory, from, std::min(end, region.end), *region.shared,
               region.shared->offset + (from - region_start));
  }
}

}  // namespace cloche::kernel
