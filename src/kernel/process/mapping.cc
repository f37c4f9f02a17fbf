// SPDX-License-Identifier: Apache-2.0
#include "kernel/process/mapping.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "kernel/kernel.h"
#include "kernel/process/task.h"
#include "kernel/process/turns.h"

namespace cloche::kernel {
namespace {

// Of one page: into what the file has now go the bytes that differ from what is known. Both happen
// in one turn, so nobody writes in between.
Result<void> write_changes(vfs::NodeIo& io, std::uint64_t offset, std::span<const std::byte> page,
                           std::span<std::byte> known) {
  const auto [first, unused] = std::ranges::mismatch(page, known);
  std::size_t begin = static_cast<std::size_t>(first - page.begin());
  std::size_t end = page.size();
  while (end > begin && page[end - 1] == known[end - 1]) --end;
  std::array<std::byte, page_bytes> merged{};
  const auto there = std::span(merged).first(end - begin);
  CLOCHE_ASSIGN(const std::size_t got, io.read(offset + begin, there));
  if (got < there.size()) return Errno::io;
  for (std::size_t at = begin; at < end; ++at) {
    if (page[at] != known[at]) merged[at - begin] = page[at];
  }
  while (begin < end) {
    const auto rest = std::span<const std::byte>(merged).subspan(there.size() - (end - begin));
    CLOCHE_ASSIGN(const std::size_t written, io.write(offset + begin, rest.first(end - begin)));
    if (written == 0) return Errno::io;
    std::ranges::copy(page.subspan(begin, written), known.begin() + static_cast<long>(begin));
    begin += written;
  }
  return {};
}

Result<void> write_back(Task& task, std::span<const std::byte> bytes, const SharedMapping& shared)
    REQUIRES(kernel_lock) {
  const std::span<std::byte> known =
      std::span(shared.known->bytes).subspan(shared.known_at, bytes.size());
  CLOCHE_ASSIGN(const auto io,
                shared.node.fs().open(shared.node.ino(), vfs::Access::read | vfs::Access::write));
  // What a process has written that must die goes to the file all the same.
  Turns turns(task);
  for (std::size_t done = 0; done < bytes.size();) {
    const std::size_t turn_end = std::min(bytes.size(), done + piece_bytes);
    // In the turns of others the file may have been cut.
    CLOCHE_ASSIGN(const vfs::Stat stat, shared.node.stat());
    for (; done < turn_end; done += page_bytes) {
      if (shared.offset + done >= stat.size) return {};
      const std::size_t size = std::min<std::uint64_t>(std::min(page_bytes, bytes.size() - done),
                                                       stat.size - shared.offset - done);
      if (std::memcmp(bytes.data() + done, known.data() + done, size) == 0) continue;
      CLOCHE_TRY(write_changes(*io, shared.offset + done, bytes.subspan(done, size),
                               known.subspan(done, size)));
      if (size < page_bytes) return {};
    }
    (void)turns.go_on();
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<KnownContent>> known_content(Task& task, std::uint64_t start,
                                                    std::uint64_t length) {
  const auto known = std::make_shared<KnownContent>(task.kernel().memory());
  if (!known->charge.add(length)) return Errno::nomem;
  CLOCHE_ASSIGN(const auto bytes,
                task.instance().memory().slice(static_cast<std::uint32_t>(start), length));
  try {
    known->bytes.reserve(length);
  } catch (const std::bad_alloc&) {
    return Errno::nomem;
  }
  CLOCHE_TRY(in_turns(task, bytes.size(), [&](std::size_t done, std::size_t count) {
    const auto piece = bytes.subspan(done, count);
    known->bytes.insert(known->bytes.end(), piece.begin(), piece.end());
    return Result<std::size_t>(count);
  }));
  if (known->bytes.size() < length) return Errno::intr;  // the process must die
  return known;
}

Result<void> write_back_mappings(Task& task, std::uint64_t start, std::uint64_t end) noexcept {
  const wasm::GuestMemory memory = task.instance().memory();
  Result<void> first;
  for (const auto& [region_start, region] : task.owner().memory.regions()) {
    if (!region.shared || region.end <= start || region_start >= end) continue;
    const std::uint64_t from = std::max(start, region_start) / page_bytes * page_bytes;
    const auto bytes =
        memory.slice(static_cast<std::uint32_t>(from), std::min(end, region.end) - from);
    const Result<void> written =
        bytes ? write_back(task, *bytes, region.shared->from(from - region_start))
              : Result<void>(bytes.error());
    if (first && !written) first = written;
  }
  return first;
}

}  // namespace cloche::kernel
