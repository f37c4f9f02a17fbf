// SPDX-License-Identifier: Apache-2.0
#include "kernel/files/node_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "kernel/kernel.h"
#include "kernel/process/process_files.h"
#include "kernel/process/task.h"
#include "kernel/process/turns.h"
#include "wasm/guest_memory.h"

namespace cloche::kernel {
namespace {

constexpr std::uint32_t fionread = 0x541B;
constexpr std::uint32_t falloc_keep_size = 1, falloc_punch_hole = 2, falloc_zero_range = 0x10;
constexpr std::uint64_t offset_max = std::numeric_limits<std::int64_t>::max();

// A mapping of a guest is as large as its memory; more than this at once would not fit the result
// of a call.
constexpr std::size_t transfer_max = 0x7ffff000;

}  // namespace

InodeFile::InodeFile(Kernel& kernel, vfs::Node node, std::uint32_t open_flags)
    : File(open_flags), kernel_(kernel), node_(std::move(node)) {}

InodeFile::~InodeFile() {
  if (kernel_.locks().size() != 0) kernel_.locks().file_gone(this);
}

LockKey InodeFile::lock_key() const { return {node_.fs().device(), node_.ino()}; }

std::string InodeFile::description() const {
  if (auto path = kernel_.files().path_of(node_)) return *std::move(path);
  return fmt::format("/#{} (deleted)", node_.ino());
}

NodeFile::NodeFile(Kernel& kernel, vfs::Node node, std::unique_ptr<vfs::NodeIo> io,
                   vfs::FileType type, std::uint32_t flags)
    : InodeFile(kernel, std::move(node), flags), io_(std::move(io)), type_(type) {}

Result<vfs::Stat> NodeFile::stat() { return io_ ? io_->stat() : InodeFile::stat(); }

std::string NodeFile::description() const {
  if (memfd_) return fmt::format("/memfd:{} (deleted)", memfd_->name);
  return InodeFile::description();
}

Result<std::uint64_t> NodeFile::size() const {
  CLOCHE_ASSIGN(const vfs::Stat now, io_->stat());
  return std::uint64_t{now.size};
}

// --- Reading and writing ------------------------------------------------------------------------

// A transfer at the position, which gives the lock up where it is long: the next one waits for it.
class NodeFile::Transfer {
 public:
  explicit Transfer(NodeFile& file) REQUIRES(kernel_lock) : file_(file) { file_.is_moving_ = true; }
  ~Transfer() NO_THREAD_SAFETY_ANALYSIS {
    file_.is_moving_ = false;
    file_.moved_.wake_all();
  }
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

 private:
  NodeFile& file_;
};

// An append, with a turn where it gives the lock up on the way.
class NodeFile::Append {
 public:
  Append(Kernel& kernel, LockKey file, std::size_t bytes) REQUIRES(kernel_lock)
      : kernel_(kernel), file_(file), has_turn_(bytes > piece_bytes) {
    if (has_turn_) kernel_.append_turns().taken.insert(file_);
  }
  ~Append() NO_THREAD_SAFETY_ANALYSIS {
    if (!has_turn_) return;
    kernel_.append_turns().taken.erase(file_);
    kernel_.append_turns().changed.wake_all();
  }
  Append(const Append&) = delete;
  Append& operator=(const Append&) = delete;

 private:
  Kernel& kernel_;
  const LockKey file_;
  const bool has_turn_;
};

Result<void> NodeFile::wait_for_position(Task& task) {
  while (is_moving_) CLOCHE_TRY(task.block({&moved_}));
  return {};
}

Result<std::size_t> NodeFile::read(Task& task, std::span<std::byte> to) {
  CLOCHE_TRY(wait_for_position(task));
  const Transfer transfer(*this);
  return move_here(task, to);
}

Result<std::size_t> NodeFile::read_each(Task& task, Buffers to) {
  CLOCHE_TRY(wait_for_position(task));
  const Transfer transfer(*this);
  return each_in_turns(task, to,
                       [&](std::span<std::byte> buffer, std::size_t)
                           REQUIRES(kernel_lock) { return move_here(task, buffer); });
}

Result<std::size_t> NodeFile::move_here(Task& task, std::span<std::byte> to) {
  CLOCHE_ASSIGN(const std::size_t count, pread(task, to, position_));
  position_ += count;
  return std::size_t{count};
}

Result<std::size_t> NodeFile::pread(Task& task, std::span<std::byte> to, std::uint64_t offset) {
  if (!io_) return Errno::badf;
  if (is_directory()) return Errno::isdir;
  if (offset > offset_max) return Errno::inval;
  return in_turns(task, std::min(to.size(), transfer_max),
                  [&](std::size_t done, std::size_t count) {
                    return io_->read(offset + done, to.subspan(done, count));
                  });
}

Result<std::size_t> NodeFile::write(Task& task, std::span<const std::byte> from) {
  CLOCHE_TRY(wait_for_position(task));
  const Transfer transfer(*this);
  if ((flags_ & o_append) == 0) return put_here(task, from);
  CLOCHE_ASSIGN(const std::size_t count, append(task, from));
  if (count != 0) {
    CLOCHE_ASSIGN(position_, size());
  }
  return std::size_t{count};
}

Result<std::size_t> NodeFile::write_each(Task& task, Buffers from) {
  CLOCHE_TRY(wait_for_position(task));
  const Transfer transfer(*this);
  if ((flags_ & o_append) == 0) {
    return each_in_turns(task, from,
                         [&](std::span<std::byte> buffer, std::size_t)
                             REQUIRES(kernel_lock) { return put_here(task, buffer); });
  }
  CLOCHE_ASSIGN(const std::size_t count, append_each(task, from));
  if (count != 0) {
    CLOCHE_ASSIGN(position_, size());
  }
  return std::size_t{count};
}

Result<std::size_t> NodeFile::put_here(Task& task, std::span<const std::byte> from) {
  CLOCHE_ASSIGN(const std::size_t count, pwrite(task, from, position_));
  position_ += count;
  return std::size_t{count};
}

Result<std::size_t> NodeFile::pwrite(Task& task, std::span<const std::byte> from,
                                     std::uint64_t offset) {
  if (!io_) return Errno::badf;
  if (is_directory()) return Errno::isdir;
  if (offset > offset_max) return Errno::inval;
  if ((flags_ & o_append) != 0) return append(task, from);
  if (from.empty()) return std::size_t{0};
  CLOCHE_ASSIGN(const std::uint64_t room,
                process_files::within_file_limit(task.process(), offset,
                                                 std::min(from.size(), transfer_max)));
  if (memfd_) {
    CLOCHE_ASSIGN(const std::uint64_t now, size());
    CLOCHE_TRY(check_seals(offset + room, now));
  }
  CLOCHE_ASSIGN(
      const std::size_t count,
      in_turns(task, static_cast<std::size_t>(room), [&](std::size_t done, std::size_t some) {
        return io_->write(offset + done, from.subspan(done, some));
      }));
  if ((flags_ & o_dsync) != 0) CLOCHE_TRY(io_->sync());
  return std::size_t{count};
}

Result<std::size_t> NodeFile::append(Task& task, std::span<const std::byte> from) {
  CLOCHE_TRY(wait_to_append(task));
  const Append turn(task.kernel(), lock_key(), from.size());
  return put_at_end(task, from);
}

Result<std::size_t> NodeFile::append_each(Task& task, Buffers from) {
  CLOCHE_TRY(wait_to_append(task));
  std::size_t total = 0;
  for (const std::span<std::byte> buffer : from) total += buffer.size();
  const Append turn(task.kernel(), lock_key(), total);
  return each_in_turns(task, from,
                       [&](std::span<std::byte> buffer, std::size_t)
                           REQUIRES(kernel_lock) { return put_at_end(task, buffer); });
}

Result<void> NodeFile::wait_to_append(Task& task) {
  if (!io_) return Errno::badf;
  if (is_directory()) return Errno::isdir;
  AppendTurns& turns = task.kernel().append_turns();
  while (turns.taken.contains(lock_key())) CLOCHE_TRY(task.block({&turns.changed}));
  return {};
}

Result<std::size_t> NodeFile::put_at_end(Task& task, std::span<const std::byte> from) {
  if (from.empty()) return std::size_t{0};
  std::uint64_t room = std::min(from.size(), transfer_max);
  if (memfd_ || task.process().limits[rlimit_fsize].soft != rlim_infinity) {
    CLOCHE_ASSIGN(const std::uint64_t now, size());
    CLOCHE_ASSIGN(room, process_files::within_file_limit(task.process(), now, room));
    CLOCHE_TRY(check_seals(now + room, now));
  }
  CLOCHE_ASSIGN(const std::size_t count,
                in_turns(task, static_cast<std::size_t>(room),
                         [&](std::size_t done, std::size_t some) -> Result<std::size_t> {
                           CLOCHE_ASSIGN(const vfs::NodeIo::Appended added,
                                         io_->append(from.subspan(done, some)));
                           return std::size_t{added.count};
                         }));
  if ((flags_ & o_dsync) != 0) CLOCHE_TRY(io_->sync());
  return std::size_t{count};
}

Result<std::uint64_t> NodeFile::seek(std::int64_t offset, std::uint32_t whence) {
  if (!io_) return Errno::badf;
  std::int64_t base = 0;
  switch (whence) {
    case 0: break;
    case 1: base = static_cast<std::int64_t>(position_); break;
    case 2: {
      if (is_directory()) return Errno::inval;
      CLOCHE_ASSIGN(const std::uint64_t end, size());
      base = static_cast<std::int64_t>(end);
      break;
    }
    case 3:
    case 4: {
      if (is_directory()) return Errno::inval;
      if (offset < 0) return Errno::nxio;
      const auto from = static_cast<std::uint64_t>(offset);
      CLOCHE_ASSIGN(position_, whence == 3 ? io_->seek_data(from) : io_->seek_hole(from));
      return std::uint64_t{position_};
    }
    default: return Errno::inval;
  }
  std::int64_t target = 0;
  if (__builtin_add_overflow(base, offset, &target))
    return offset < 0 ? Errno::inval : Errno::overflow;
  if (target < 0) return Errno::inval;
  position_ = static_cast<std::uint64_t>(target);
  return std::uint64_t{position_};
}

Result<std::int32_t> NodeFile::ioctl(Task&, wasm::GuestMemory& memory, std::uint32_t request,
                                     std::uint32_t argument) {
  if (!io_) return Errno::badf;
  if (request != fionread || is_directory()) return Errno::notty;
  CLOCHE_ASSIGN(const std::uint64_t end, size());
  const std::uint64_t left = end > position_ ? end - position_ : 0;
  CLOCHE_TRY(
      memory.write(argument, static_cast<std::int32_t>(std::min<std::uint64_t>(left, INT32_MAX))));
  return 0;
}

// --- Directories --------------------------------------------------------------------------------

Result<void> NodeFile::read_directory(const vfs::DirSink& sink) {
  return read_directory(position_, [&](const vfs::DirEntry& entry) {
    if (!sink(entry)) return false;
    position_ = entry.next;
    return true;
  });
}

Result<void> NodeFile::read_directory(std::uint64_t cookie, const vfs::DirSink& sink) {
  if (!io_) return Errno::badf;
  if (!is_directory()) return Errno::notdir;
  return io_->readdir(cookie, sink);
}

// --- Space --------------------------------------------------------------------------------------

Result<void> NodeFile::allocate(Task& task, std::uint32_t mode, std::uint64_t offset,
                                std::uint64_t bytes) {
  if (!io_ || !writable()) return Errno::badf;
  if (is_directory()) return Errno::isdir;
  if (bytes == 0 || offset > offset_max || bytes > offset_max) return Errno::inval;
  constexpr std::uint32_t known = falloc_keep_size | falloc_punch_hole | falloc_zero_range;
  if ((mode & ~known) != 0) return Errno::notsup;
  if ((mode & falloc_punch_hole) != 0 && mode != (falloc_punch_hole | falloc_keep_size))
    return Errno::notsup;
  if (offset > vfs::file_size_max - std::min(bytes, vfs::file_size_max)) return Errno::fbig;
  if ((mode & falloc_punch_hole) != 0) {
    if ((seals() & (seal_write | seal_future_write)) != 0) return Errno::perm;
    return io_->punch_hole(offset, bytes);
  }
  CLOCHE_ASSIGN(const std::uint64_t now, size());
  const bool keep = (mode & falloc_keep_size) != 0;
  if (!keep && offset + bytes > now) {
    CLOCHE_ASSIGN(const std::uint64_t room,
                  process_files::within_file_limit(task.process(), offset, bytes));
    if (room != bytes) return Errno::fbig;
  }
  CLOCHE_TRY(check_seals(keep ? 0 : offset + bytes, now));
  if ((mode & falloc_zero_range) != 0) CLOCHE_TRY(io_->punch_hole(offset, bytes));
  return io_->allocate(offset, bytes,
                       keep ? vfs::AllocateMode::keep_size : vfs::AllocateMode::grow);
}

Result<void> NodeFile::truncate(Process& process, std::uint64_t bytes) {
  if (!io_) return Errno::badf;
  if (is_directory() || !writable()) return Errno::inval;
  if (bytes > vfs::file_size_max) return Errno::fbig;
  CLOCHE_ASSIGN(const std::uint64_t now, size());
  if (bytes > now) {
    if ((seals() & seal_grow) != 0) return Errno::perm;
    CLOCHE_ASSIGN(const std::uint64_t room,
                  process_files::within_file_limit(process, now, bytes - now));
    if (room != bytes - now) return Errno::fbig;
  } else if (bytes < now && (seals() & seal_shrink) != 0) {
    return Errno::perm;
  }
  return io_->truncate(bytes);
}

Result<void> NodeFile::sync() {
  if (!io_) return Errno::badf;
  return io_->sync();
}

// --- memfd --------------------------------------------------------------------------------------

void NodeFile::become_memfd(std::string name, std::uint32_t seals) {
  memfd_ = Memfd{std::move(name), seals};
}

Result<void> NodeFile::check_seals(std::uint64_t end, std::uint64_t size_now) const {
  if ((seals() & (seal_write | seal_future_write)) != 0) return Errno::perm;
  if ((seals() & seal_grow) != 0 && end > size_now) return Errno::perm;
  return {};
}

Result<void> NodeFile::add_seals(std::uint32_t seals) {
  constexpr std::uint32_t known =
      seal_seal | seal_shrink | seal_grow | seal_write | seal_future_write | seal_exec;
  if (!memfd_ || (seals & ~known) != 0) return Errno::inval;
  if (!writable() || (memfd_->seals & seal_seal) != 0) return Errno::perm;
  memfd_->seals |= seals;
  return {};
}

}  // namespace cloche::kernel
