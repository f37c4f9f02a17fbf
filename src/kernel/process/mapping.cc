// SPDX-License-Identifier: Apache-2.0
#include "kernel/process/mapping.h"

#include <algorithm>

#include "kernel/process/task.h"
#include "kernel/process/turns.h"

namespace cloche::kernel {
namespace {

void write_back(Task& task, const wasm::GuestMemory& memory, std::uint64_t start, std::uint64_t end,
                const SharedMapping& shared, std::uint64_t file_offset) REQUIRES(kernel_lock) {
  const auto bytes = memory.slice(static_cast<std::uint32_t>(start), end - start);
  const auto io = shared.node.fs().open(shared.node.ino(), vfs::Access::write);
  if (!bytes || !io) return;
  // What a process has written that must die goes to the file all the same.
  Turns turns(task);
  for (std::size_t done = 0; done < bytes->size(); done += piece_bytes) {
    // In the turns of others the file may have been cut.
    const Result<vfs::Stat> stat = shared.node.stat();
    if (!stat || file_offset + done >= stat->size) return;
    const std::size_t left =
        std::min<std::uint64_t>(bytes->size() - done, stat->size - file_offset - done);
    const auto piece = bytes->subspan(done, std::min(piece_bytes, left));
    const Result<std::size_t> written = (*io)->write(file_offset + done, piece);
    if (!written || *written < piece.size()) return;
    (void)turns.go_on();
  }
}

}  // namespace

void write_back_mappings(Task& task, std::uint64_t start, std::uint64_t end) noexcept {
  const wasm::GuestMemory memory = task.instance().memory();
  for (const auto& [region_start, region] : task.owner().memory.regions()) {
    if (!region.shared || region.end <= start || region_start >= end) continue;
    const std::uint64_t from = std::max(start, region_start);
    write_back(task, memory, from, std::min(end, region.end), *region.shared,
               region.shared->offset + (from - region_start));
  }
}

}  // namespace cloche::kernel
