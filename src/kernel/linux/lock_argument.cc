// SPDX-License-Identifier: Apache-2.0
#include "kernel/linux/lock_argument.h"

#include <limits>

#include "kernel/files/node_file.h"
#include "kernel/kernel.h"

namespace cloche::kernel::lnx {
namespace {

constexpr std::int16_t f_rdlck = 0, f_wrlck = 1, f_unlck = 2;

struct GuestFlock {
  std::int16_t type, whence;
  std::int32_t pad;
  std::int64_t start, length;
  std::int32_t pid, pad_end;
};
static_assert(sizeof(GuestFlock) == 32);

constexpr std::int64_t offset_max = std::numeric_limits<std::int64_t>::max();

// l_start and l_len as absolute bytes; a negative length lies before the start, zero means to the
// end, wherever that will be.
Result<LockRange> range_of(File& file, const GuestFlock& flock) REQUIRES(kernel_lock) {
  std::int64_t base = 0;
  switch (flock.whence) {
    case 0: break;
    case 1: {
      CLOCHE_ASSIGN(const std::uint64_t position, file.seek(0, 1));
      base = static_cast<std::int64_t>(position);
      break;
    }
    case 2: {
      CLOCHE_ASSIGN(const vfs::Stat stat, file.stat());
      base = static_cast<std::int64_t>(stat.size);
      break;
    }
    default: return Errno::inval;
  }
  std::int64_t first = 0;
  if (__builtin_add_overflow(base, flock.start, &first)) return Errno::overflow;
  if (first < 0) return Errno::inval;
  if (flock.length == 0) return LockRange{static_cast<std::uint64_t>(first)};
  std::int64_t end = 0;  // the byte after the last
  if (__builtin_add_overflow(first, flock.length, &end)) {
    // The last byte of all may be named, though the one after it cannot.
    if (flock.length < 0 || flock.length - 1 > offset_max - first) return Errno::overflow;
    return LockRange{static_cast<std::uint64_t>(first)};
  }
  if (flock.length < 0) std::swap(first, end);
  if (first < 0) return Errno::inval;
  return LockRange{static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(end - 1)};
}

struct Request {
  LockKey key;
  GuestFlock flock;
  LockRange range;
};

Result<Request> read_request(Call& call, const FilePtr& file, const LockOwner& owner)
    REQUIRES(kernel_lock) {
  const auto* inode = dynamic_cast<const InodeFile*>(file.get());
  if (inode == nullptr) return Errno::inval;
  CLOCHE_ASSIGN(const GuestFlock flock, call.memory.read<GuestFlock>(call.u32(2)));
  if (flock.type < f_rdlck || flock.type > f_unlck) return Errno::inval;
  if (owner.kind == LockOwner::Kind::description && flock.pid != 0) return Errno::inval;
  CLOCHE_ASSIGN(const LockRange range, range_of(*file, flock));
  return Request{inode->lock_key(), flock, range};
}

LockType type_of(const GuestFlock& flock) {
  return flock.type == f_rdlck ? LockType::shared : LockType::exclusive;
}

}  // namespace

SysResult set_lock(Call& call, const FilePtr& file, const LockOwner& owner, LockWait wait) {
  CLOCHE_ASSIGN(const Request request, read_request(call, file, owner));
  FileLocks& locks = call.kernel.locks();
  if (request.flock.type == f_unlck) {
    CLOCHE_TRY(locks.unlock(request.key, owner, request.range));
    return 0;
  }
  if (request.flock.type == f_rdlck ? !file->readable() : !file->writable()) return Errno::badf;
  const FileLock wanted{owner, type_of(request.flock), request.range};
  CLOCHE_TRY(wait == LockWait::yes ? locks.lock(call.task, request.key, wanted)
                                   : locks.try_lock(request.key, wanted));
  return 0;
}

SysResult get_lock(Call& call, const FilePtr& file, const LockOwner& owner) {
  CLOCHE_ASSIGN(Request request, read_request(call, file, owner));
  if (request.flock.type == f_unlck) return Errno::inval;
  const auto held =
      call.kernel.locks().conflict(request.key, {owner, type_of(request.flock), request.range});
  if (!held) {
    request.flock.type = f_unlck;
  } else {
    const bool to_the_end = held->range.last >= static_cast<std::uint64_t>(offset_max);
    request.flock.type = held->type == LockType::shared ? f_rdlck : f_wrlck;
    request.flock.whence = 0;
    request.flock.start = static_cast<std::int64_t>(held->range.first);
    request.flock.length =
        to_the_end ? 0 : static_cast<std::int64_t>(held->range.last - held->range.first + 1);
    request.flock.pid = held->owner.pid;
  }
  CLOCHE_TRY(call.memory.write(call.u32(2), request.flock));
  return 0;
}

}  // namespace cloche::kernel::lnx
