// SPDX-License-Identifier: Apache-2.0
// Memory: brk and mmap in a linear memory that only grows. See memory_map.h and mapping.h.
#include <algorithm>
#include <array>

#include "base/check.h"
#include "kernel/linux/call.h"
#include "kernel/process/mapping.h"
#include "kernel/process/turns.h"

namespace cloche::kernel::lnx {
namespace {

constexpr std::uint32_t prot_write = 2;
constexpr std::uint32_t map_shared = 1, map_type = 0xf, map_shared_validate = 3, map_fixed = 0x10,
                        map_anonymous = 0x20, map_fixed_noreplace = 0x100000;
constexpr std::uint64_t address_space = std::uint64_t{1} << 32;

constexpr std::uint64_t page_up(std::uint64_t n) {
  return (n + page_bytes - 1) & ~(page_bytes - 1);
}

// The current memory: it may have grown since the call began.
wasm::GuestMemory memory_now(Call& call) { return call.task.instance().memory(); }

// Between vfork and exec the memory is the parent's, and what is handed out of it too.
MemoryMap& map_of(Call& call) REQUIRES(kernel_lock) { return call.task.owner().memory; }

Result<void> clear(Call& call, std::uint64_t start, std::uint64_t length) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const auto bytes,
                memory_now(call).slice(static_cast<std::uint32_t>(start), length));
  CLOCHE_TRY(in_turns(call.task, bytes.size(), [&](std::size_t done, std::size_t count) {
    std::ranges::fill(bytes.subspan(done, count), std::byte{0});
    return Result<std::size_t>(count);
  }));
  return {};
}

// What brk or mmap hands out beyond the former end of memory was never handed out before: it is
// zero already.
Result<void> provide(Call& call, std::uint64_t start, std::uint64_t length) REQUIRES(kernel_lock) {
  const std::uint64_t had = map_of(call).memory_end();
  if (start + length > had) CLOCHE_TRY(call.task.grow_memory(start + length));
  if (start < had) return clear(call, start, std::min(start + length, had) - start);
  return {};
}

// Linux's brk never fails: it returns the break that is in force.
SysResult brk(Call& call) REQUIRES(kernel_lock) {
  MemoryMap& map = map_of(call);
  const std::uint64_t old = map.brk();
  const std::uint64_t wanted = call.u32(0);
  if (wanted < map.heap_base() || wanted == old) return static_cast<std::int64_t>(old);
  if (!map.set_brk(wanted)) return static_cast<std::int64_t>(old);
  if (wanted > old && !provide(call, old, wanted - old)) {
    CLOCHE_CHECK(map.set_brk(old));
    return static_cast<std::int64_t>(old);
  }
  return static_cast<std::int64_t>(wanted);
}

Result<void> fill_from_file(Call& call, File& file, std::uint64_t start, std::uint64_t length,
                            std::uint64_t offset) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(std::span<std::byte> bytes,
                memory_now(call).slice(static_cast<std::uint32_t>(start), length));
  while (!bytes.empty()) {
    CLOCHE_ASSIGN(const std::size_t got, file.pread(call.task, bytes, offset));
    if (got == 0) break;  // beyond the end of the file: zeros
    bytes = bytes.subspan(got);
    offset += got;
  }
  return {};
}

// What is there now is that mapping's.
Result<void> share(Call& call, std::uint64_t start, std::uint64_t length, SharedMapping mapping)
    REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(mapping.known, known_content(call.task, start, length));
  map_of(call).share(start, std::move(mapping));
  return {};
}

Result<FilePtr> mappable_file(Call& call, std::int32_t fd, std::uint32_t prot, std::uint32_t type)
    REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(FilePtr file, call.process.fds.get(fd));
  if (!file->readable()) return Errno::acces;
  if (file->node() == nullptr) return Errno::nodev;
  CLOCHE_ASSIGN(const vfs::Stat stat, file->stat());
  if (stat.type != vfs::FileType::regular) return Errno::nodev;
  if (type == map_shared && (prot & prot_write) != 0 && !file->writable()) return Errno::acces;
  return file;
}

SysResult mmap(Call& call) REQUIRES(kernel_lock) {
  const std::uint64_t length = page_up(call.u32(1));
  const std::uint32_t prot = call.u32(2);
  const std::uint32_t flags = call.u32(3);
  const std::uint32_t type =
      (flags & map_type) == map_shared_validate ? map_shared : flags & map_type;
  const std::uint64_t offset = std::uint64_t{call.u32(5)} * page_bytes;
  if (length == 0 || (type != map_shared && type != 2)) return Errno::inval;
  FilePtr file;
  std::optional<SharedMapping> shared;
  if ((flags & map_anonymous) == 0) {
    CLOCHE_ASSIGN(file, mappable_file(call, call.i32(4), prot, type));
    if (type == map_shared && (prot & prot_write) != 0)
      shared = SharedMapping{*file->node(), offset};
  }
  MemoryMap& map = map_of(call);
  std::uint64_t start = 0;
  if ((flags & (map_fixed | map_fixed_noreplace)) != 0) {
    // A program may choose a place only within what mmap gave out before, which is what programs
    // do.
    start = call.u32(0);
    const auto* region = map.find(start);
    if (start % page_bytes != 0) return Errno::inval;
    if ((flags & map_fixed_noreplace) != 0 && region != nullptr) return Errno::exist;
    if (region == nullptr || region->second.end < start + length || shared) return Errno::nomem;
    (void)write_back_mappings(call.task, start, start + length);
    map.make_private(start, length);
    CLOCHE_TRY(clear(call, start, length));
  } else {
    if (length > address_space - std::min(address_space, map.memory_needed())) return Errno::nomem;
    start = map.allocate(length);
    if (const Result<void> there = provide(call, start, length); !there) {
      map.release(start, length);
      return there.error();
    }
  }
  if (file) {
    Result<void> filled = fill_from_file(call, *file, start, length, offset);
    if (filled && shared) filled = share(call, start, length, *std::move(shared));
    if (!filled) {
      map.release(start, length);
      return filled.error();
    }
  }
  return static_cast<std::int64_t>(start);
}

SysResult munmap(Call& call) REQUIRES(kernel_lock) {
  const std::uint64_t start = call.u32(0);
  const std::uint64_t length = page_up(call.u32(1));
  if (start % page_bytes != 0 || length == 0 || start + length > address_space) return Errno::inval;
  (void)write_back_mappings(call.task, start, start + length);
  map_of(call).release(start, length);
  return 0;
}

SysResult mremap(Call& call) REQUIRES(kernel_lock) {
  constexpr std::uint32_t may_move = 1;
  const std::uint64_t start = call.u32(0);
  const std::uint64_t old_length = page_up(call.u32(1));
  const std::uint64_t new_length = page_up(call.u32(2));
  if (start % page_bytes != 0 || new_length == 0 || old_length == 0 ||
      (call.u32(3) & ~may_move) != 0) {
    return Errno::inval;
  }
  MemoryMap& map = map_of(call);
  const auto* region = map.find(start);
  if (region == nullptr || region->second.end < start + old_length) return Errno::fault;
  if (new_length <= old_length) {
    if (new_length < old_length) {
      (void)write_back_mappings(call.task, start + new_length, start + old_length);
      map.release(start + new_length, old_length - new_length);
    }
    return static_cast<std::int64_t>(start);
  }
  if ((call.u32(3) & may_move) == 0 || region->second.shared) return Errno::nomem;
  if (new_length > address_space - std::min(address_space, map.memory_needed()))
    return Errno::nomem;
  const std::uint64_t moved = map.allocate(new_length);
  if (const Result<void> there = provide(call, moved, new_length); !there) {
    map.release(moved, new_length);
    return there.error();
  }
  const wasm::GuestMemory memory = memory_now(call);
  CLOCHE_ASSIGN(const auto from, memory.slice(static_cast<std::uint32_t>(start), old_length));
  CLOCHE_ASSIGN(const auto to, memory.slice(static_cast<std::uint32_t>(moved), old_length));
  CLOCHE_TRY(in_turns(call.task, from.size(), [&](std::size_t done, std::size_t count) {
    std::ranges::copy(from.subspan(done, count), to.subspan(done).begin());
    return Result<std::size_t>(count);
  }));
  map.release(start, old_length);
  return static_cast<std::int64_t>(moved);
}

SysResult msync(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_TRY(write_back_mappings(call.task, call.u32(0), std::uint64_t{call.u32(0)} + call.u32(1)));
  return 0;
}

// Linear memory has no protection and is never swapped: these are accepted for memory that exists.
SysResult accepted(Call& call) {
  if (call.u32(0) % page_bytes != 0) return Errno::inval;
  if (!call.memory.holds(call.u32(0), call.u32(1))) return Errno::nomem;
  return 0;
}

SysResult madvise(Call& call) REQUIRES(kernel_lock) {
  constexpr std::uint32_t dont_need = 4;
  const SysResult valid = accepted(call);
  if (!valid || call.u32(2) != dont_need) return valid;
  const auto* region = map_of(call).find(call.u32(0));
  const std::uint64_t length = page_up(call.u32(1));
  if (region == nullptr || region->second.end < call.u32(0) + length || region->second.shared)
    return 0;
  CLOCHE_TRY(clear(call, call.u32(0), length));
  return 0;
}

SysResult mincore(Call& call) {
  CLOCHE_TRY(accepted(call));
  const std::uint64_t pages = page_up(call.u32(1)) / page_bytes;
  CLOCHE_ASSIGN(const auto bytes, call.memory.slice(call.u32(2), pages));
  std::ranges::fill(bytes, std::byte{1});
  return 0;
}

SysResult nothing(Call&) { return 0; }

constexpr std::array memory_entries{
    Entry{214, "brk", 1, brk},
    Entry{215, "munmap", 2, munmap},
    Entry{216, "mremap", 5, mremap, Support::partial,
          "no MREMAP_FIXED; a shared mapping does not grow"},
    Entry{222, "mmap2", 6, mmap, Support::partial,
          "file mappings are copies; what is changed in shared ones is written back by msync, "
          "munmap and exit; "
          "protection bits are not kept; MAP_FIXED only within what mmap gave out"},
    Entry{226, "mprotect", 3, accepted, Support::accepted, "linear memory has no protection bits"},
    Entry{227, "msync", 3, msync},
    Entry{228, "mlock", 2, accepted, Support::accepted, "memory is never swapped by the sandbox"},
    Entry{229, "munlock", 2, accepted, Support::accepted},
    Entry{230, "mlockall", 1, nothing, Support::accepted},
    Entry{231, "munlockall", 0, nothing, Support::accepted},
    Entry{232, "mincore", 3, mincore, Support::partial, "every page is resident"},
    Entry{233, "madvise", 3, madvise, Support::partial,
          "MADV_DONTNEED clears private memory; other advice changes nothing"},
    Entry{284, "mlock2", 3, accepted, Support::accepted},
};

}  // namespace

std::span<const Entry> memory_calls() { return memory_entries; }

}  // namespace cloche::kernel::lnx
