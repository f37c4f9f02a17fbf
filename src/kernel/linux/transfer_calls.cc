// SPDX-License-Identifier: Apache-2.0
// Moving data between guest memory and files, and between files.
#include <algorithm>
#include <optional>
#include <vector>

#include "kernel/files/node_file.h"
#include "kernel/linux/call.h"
#include "kernel/process/process_files.h"
#include "kernel/process/turns.h"
#include "kernel/process/vectored_io.h"

namespace cloche::kernel::lnx {
namespace {

using Offset = std::optional<std::uint64_t>;  // absent: the file's position

constexpr std::size_t total_max = 0x7ffff000;  // what Linux moves in one call at most
constexpr std::size_t copy_chunk_bytes = std::size_t{256} << 10;

constexpr std::uint32_t rwf_hipri = 1, rwf_dsync = 2, rwf_sync = 4, rwf_nowait = 8, rwf_append = 16;

// The buffers of an iovec list.
Result<std::vector<GuestBuffer>> buffers_of(const Call& call) {
  if (call.i32(2) < 0) return Errno::inval;
  return read_iovecs(call.memory, call.u32(1), call.u32(2));
}

Result<GuestBuffer> single(const Call& call) {
  CLOCHE_ASSIGN(const GuestBuffer buffer, call.memory.slice(call.u32(1), call.u32(2)));
  return buffer.first(std::min(buffer.size(), total_max));
}

SysResult read_into(Call& call, std::span<const GuestBuffer> buffers, Offset offset)
    REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const FilePtr file, call.process.fds.get_readable(call.i32(0)));
  CLOCHE_ASSIGN(const std::size_t count, read_vector(call.task, *file, buffers, offset));
  return static_cast<std::int64_t>(count);
}

SysResult write_from(Call& call, std::span<const GuestBuffer> buffers, Offset offset)
    REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const FilePtr file, call.process.fds.get_writable(call.i32(0)));
  CLOCHE_ASSIGN(const std::size_t count, write_vector(call.task, *file, buffers, offset));
  return static_cast<std::int64_t>(count);
}

// An offset argument: not negative.
Result<Offset> offset_of(const Call& call, std::size_t low) {
  if (call.i64(low) < 0) return Errno::inval;
  return Offset(call.u64(low));
}

SysResult read(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const GuestBuffer buffer, single(call));
  return read_into(call, {&buffer, 1}, {});
}

SysResult write(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const GuestBuffer buffer, single(call));
  return write_from(call, {&buffer, 1}, {});
}

SysResult readv(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const auto buffers, buffers_of(call));
  return read_into(call, buffers, {});
}

SysResult writev(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const auto buffers, buffers_of(call));
  return write_from(call, buffers, {});
}

SysResult pread64(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const Offset offset, offset_of(call, 3));
  CLOCHE_ASSIGN(const GuestBuffer buffer, single(call));
  return read_into(call, {&buffer, 1}, offset);
}

SysResult pwrite64(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const Offset offset, offset_of(call, 3));
  CLOCHE_ASSIGN(const GuestBuffer buffer, single(call));
  return write_from(call, {&buffer, 1}, offset);
}

SysResult preadv(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const Offset offset, offset_of(call, 3));
  CLOCHE_ASSIGN(const auto buffers, buffers_of(call));
  return read_into(call, buffers, offset);
}

SysResult pwritev(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const Offset offset, offset_of(call, 3));
  CLOCHE_ASSIGN(const auto buffers, buffers_of(call));
  return write_from(call, buffers, offset);
}

// Of preadv2 and pwritev2: an offset of -1 is the file's position.
Result<Offset> offset_or_position(const Call& call) {
  if (call.i64(3) == -1) return Offset();
  return offset_of(call, 3);
}

Result<void> check_ready(const Call& call, PollEvents wanted) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const FilePtr file, call.process.fds.get(call.i32(0)));
  if ((file->poll() & (wanted | pollerr | pollhup)) == 0) return Errno::again;
  return {};
}

SysResult preadv2(Call& call) REQUIRES(kernel_lock) {
  const std::uint32_t flags = call.u32(5);
  if ((flags & ~(rwf_hipri | rwf_nowait)) != 0) return Errno::notsup;
  CLOCHE_ASSIGN(const Offset offset, offset_or_position(call));
  CLOCHE_ASSIGN(const auto buffers, buffers_of(call));
  if ((flags & rwf_nowait) != 0) CLOCHE_TRY(check_ready(call, pollin));
  return read_into(call, buffers, offset);
}

SysResult append(Call& call, NodeFile& file, std::span<const GuestBuffer> buffers)
    REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const std::size_t count, append_vector(call.task, file, buffers));
  return static_cast<std::int64_t>(count);
}

SysResult pwritev2(Call& call) REQUIRES(kernel_lock) {
  const std::uint32_t flags = call.u32(5);
  if ((flags & ~(rwf_hipri | rwf_dsync | rwf_sync | rwf_nowait | rwf_append)) != 0)
    return Errno::notsup;
  CLOCHE_ASSIGN(const Offset offset, offset_or_position(call));
  CLOCHE_ASSIGN(const auto buffers, buffers_of(call));
  if ((flags & rwf_nowait) != 0) CLOCHE_TRY(check_ready(call, pollout));
  CLOCHE_ASSIGN(const FilePtr file, call.process.fds.get_writable(call.i32(0)));
  auto* node_file = dynamic_cast<NodeFile*>(file.get());
  const SysResult count = (flags & rwf_append) != 0 && node_file != nullptr
                              ? append(call, *node_file, buffers)
                              : write_from(call, buffers, offset);
  if (count && node_file != nullptr && (flags & (rwf_dsync | rwf_sync)) != 0)
    CLOCHE_TRY(node_file->sync());
  return count;
}

SysResult llseek(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const FilePtr file, call.process.fds.get(call.i32(0)));
  if ((file->flags() & o_path) != 0) return Errno::badf;
  if (!call.memory.holds(call.u32(3), sizeof(std::uint64_t))) return Errno::fault;
  const auto offset = static_cast<std::int64_t>((std::uint64_t{call.u32(1)} << 32) | call.u32(2));
  CLOCHE_TRY(file->wait_for_position(call.task));
  CLOCHE_ASSIGN(const std::uint64_t position, file->seek(offset, call.u32(4)));
  CLOCHE_TRY(call.memory.write(call.u32(3), position));
  return 0;
}

// --- From file to file --------------------------------------------------------------------------

// Moves up to `count` bytes from `in` at `*in_offset` to `out`, at `*out_offset` or its position;
// the offsets follow. What was moved before an error counts.
Result<std::size_t> copy_between(Task& task, File& in, std::uint64_t& in_offset, File& out,
                                 std::uint64_t* out_offset, std::size_t count)
    REQUIRES(kernel_lock) {
  std::vector<std::byte> buffer(std::min(count, copy_chunk_bytes));
  Turns turns(task);
  std::size_t done = 0;
  while (done < count) {
    const auto chunk = std::span(buffer).first(std::min(buffer.size(), count - done));
    const Result<std::size_t> got = in.pread(task, chunk, in_offset);
    if (!got && done == 0) return got;
    if (!got || *got == 0) break;
    const auto data = chunk.first(*got);
    const Result<std::size_t> put =
        out_offset != nullptr ? out.pwrite(task, data, *out_offset) : out.write(task, data);
    if (!put && done == 0) return put;
    if (!put) break;
    done += *put;
    in_offset += *put;
    if (out_offset != nullptr) *out_offset += *put;
    if (*put < *got || !turns.go_on()) break;
  }
  return done;
}

// An offset that the guest gives by pointer, or the position of the file.
struct OffsetArgument {
  std::uint32_t address = 0;
  std::uint64_t value = 0;

  static Result<OffsetArgument> read(const Call& call, std::uint32_t address, File& file)
      REQUIRES(kernel_lock) {
    OffsetArgument argument{address, 0};
    if (address == 0) {
      CLOCHE_ASSIGN(argument.value, file.seek(0, 1));
    } else {
      CLOCHE_ASSIGN(const std::int64_t given, call.memory.read<std::int64_t>(address));
      if (given < 0) return Errno::inval;
      argument.value = static_cast<std::uint64_t>(given);
    }
    return argument;
  }
  Result<void> store(const Call& call, File& file) const REQUIRES(kernel_lock) {
    if (address != 0) return call.memory.write(address, value);
    CLOCHE_TRY(file.seek(static_cast<std::int64_t>(value), 0));
    return {};
  }
};

void count_copy(Process& process, std::size_t bytes) REQUIRES(kernel_lock) {
  count_read(process, bytes);
  count_written(process, bytes);
}

SysResult sendfile64(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const FilePtr out, call.process.fds.get_writable(call.i32(0)));
  CLOCHE_ASSIGN(const FilePtr in, call.process.fds.get_readable(call.i32(1)));
  if (!has_positions(*in) || (out->flags() & o_append) != 0) return Errno::inval;
  CLOCHE_ASSIGN(OffsetArgument from, OffsetArgument::read(call, call.u32(2), *in));
  CLOCHE_ASSIGN(const std::size_t count,
                copy_between(call.task, *in, from.value, *out, nullptr,
                             std::min<std::size_t>(call.u32(3), total_max)));
  CLOCHE_TRY(from.store(call, *in));
  count_copy(call.process, count);
  return static_cast<std::int64_t>(count);
}

Result<void> check_copyable(const File& file) {
  const auto* node_file = dynamic_cast<const NodeFile*>(&file);
  if (node_file == nullptr) return Errno::inval;
  return node_file->is_directory() ? Result<void>(Errno::isdir) : Result<void>();
}

SysResult copy_file_range(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const FilePtr in, call.process.fds.get_readable(call.i32(0)));
  CLOCHE_ASSIGN(const FilePtr out, call.process.fds.get_writable(call.i32(2)));
  CLOCHE_TRY(check_copyable(*in));
  CLOCHE_TRY(check_copyable(*out));
  if (call.u32(5) != 0) return Errno::inval;
  if ((out->flags() & o_append) != 0) return Errno::badf;
  CLOCHE_ASSIGN(OffsetArgument from, OffsetArgument::read(call, call.u32(1), *in));
  CLOCHE_ASSIGN(OffsetArgument to, OffsetArgument::read(call, call.u32(3), *out));
  const std::size_t wanted = std::min<std::size_t>(call.u32(4), total_max);
  const bool overlap = from.value < to.value + wanted && to.value < from.value + wanted;
  if (*in->node() == *out->node() && overlap) return Errno::inval;
  CLOCHE_ASSIGN(const std::size_t count,
                copy_between(call.task, *in, from.value, *out, &to.value, wanted));
  CLOCHE_TRY(from.store(call, *in));
  CLOCHE_TRY(to.store(call, *out));
  count_copy(call.process, count);
  return static_cast<std::int64_t>(count);
}

constexpr auto transfer_entries = std::to_array<Entry>({
    {62, "_llseek", 5, llseek},
    {63, "read", 3, read},
    {64, "write", 3, write},
    {65, "readv", 3, readv},
    {66, "writev", 3, writev},
    {67, "pread64", 5, pread64},
    {68, "pwrite64", 5, pwrite64},
    {69, "preadv", 5, preadv},
    {70, "pwritev", 5, pwritev},
    {71, "sendfile64", 4, sendfile64},
    {285, "copy_file_range", 6, copy_file_range},
    {286, "preadv2", 6, preadv2},
    {287, "pwritev2", 6, pwritev2},
});

}  // namespace

std::span<const Entry> transfer_calls() { return transfer_entries; }

}  // namespace cloche::kernel::lnx
