// Moving data between guest memory and files, and between files.
#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "kernel/files/node_file.h"
#include "kernel/linux/call.h"
#include "kernel/process/process_files.h"
#include "kernel/process/turns.h"

namespace cloche::kernel::lnx {
namespace {

using Part = std::span<std::byte>;
using Offset = std::optional<std::uint64_t>;  // absent: the file's position

constexpr std::uint32_t iov_max = 1024;
constexpr std::size_t total_max = 0x7ffff000;  // what Linux moves in one call at most
constexpr std::size_t bounce_bytes = std::size_t{1} << 20;
constexpr std::size_t copy_chunk_bytes = std::size_t{256} << 10;

constexpr std::uint32_t rwf_hipri = 1, rwf_dsync = 2, rwf_sync = 4, rwf_nowait = 8, rwf_append = 16;

struct GuestIovec {
  std::uint32_t base, length;
};

// The buffers of an iovec list, empty ones left out.
Result<std::vector<Part>> read_iovec(const Call& call, std::uint32_t address, std::int32_t count) {
  if (count < 0) return Errno::inval;
  CLOCHE_ASSIGN(const auto list, call.memory.read_array<GuestIovec>(
                                     address, static_cast<std::uint32_t>(count), iov_max));
  std::vector<Part> parts;
  parts.reserve(list.size());
  std::uint64_t total = 0;
  for (const GuestIovec& entry : list) {
    total += entry.length;
    if (total > std::numeric_limits<std::int32_t>::max()) return Errno::inval;
    CLOCHE_ASSIGN(const Part part, call.memory.slice(entry.base, entry.length));
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

Result<Part> single(const Call& call, std::uint32_t address, std::uint32_t length) {
  CLOCHE_ASSIGN(const Part part, call.memory.slice(address, length));
  return part.first(std::min(part.size(), total_max));
}

std::size_t total_of(std::span<const Part> parts) {
  std::size_t total = 0;
  for (const Part& part : parts) total += part.size();
  return total;
}

struct Reading {
  static Result<std::size_t> move(Task& task, File& file, Part part, Offset offset) {
    return offset ? file.pread(task, part, *offset) : file.read(task, part);
  }
};
struct Writing {
  static Result<std::size_t> move(Task& task, File& file, Part part, Offset offset) {
    return offset ? file.pwrite(task, part, *offset) : file.write(task, part);
  }
};

// One buffer after the other, for files where that is the same as one transfer: those with
// positions.
template <typename Way>
Result<std::size_t> move_each(Task& task, File& file, std::span<const Part> parts, Offset offset) {
  std::size_t done = 0;
  for (const Part& part : parts) {
    const auto at = offset ? Offset(*offset + done) : Offset();
    const Result<std::size_t> moved = Way::move(task, file, part, at);
    if (!moved && done == 0) return moved;
    if (!moved) break;
    done += *moved;
    if (*moved < part.size()) break;
  }
  return done;
}

// A pipe or socket must see one transfer: a message is one, a write of up to PIPE_BUF bytes is not
// divided, and a read sleeps only when there is nothing at all. So several buffers go through one
// of ours.
Result<std::size_t> read_gathered(Task& task, File& file, std::span<const Part> parts) {
  std::vector<std::byte> buffer(std::min(total_of(parts), bounce_bytes));
  CLOCHE_ASSIGN(const std::size_t count, file.read(task, buffer));
  std::span<const std::byte> left = std::span(buffer).first(count);
  for (const Part& part : parts) {
    const std::size_t take = std::min(part.size(), left.size());
    std::copy_n(left.begin(), take, part.begin());
    left = left.subspan(take);
  }
  return std::size_t{count};
}

Result<std::size_t> write_gathered(Task& task, File& file, std::span<const Part> parts) {
  std::vector<std::byte> buffer;
  const std::size_t total = total_of(parts);
  buffer.reserve(std::min(total, bounce_bytes));
  std::size_t done = 0;
  std::size_t filled = 0;  // of all parts, what was put into the buffer
  for (const Part& part : parts) {
    for (std::size_t at = 0; at < part.size();) {
      const std::size_t take = std::min(part.size() - at, bounce_bytes - buffer.size());
      buffer.insert(buffer.end(), part.begin() + static_cast<std::ptrdiff_t>(at),
                    part.begin() + static_cast<std::ptrdiff_t>(at + take));
      at += take;
      filled += take;
      if (buffer.size() < bounce_bytes && filled < total) continue;
      const Result<std::size_t> count = file.write(task, buffer);
      if (!count) return done == 0 ? count : Result<std::size_t>(done);
      done += *count;
      if (*count < buffer.size()) return done;
      buffer.clear();
    }
  }
  return done;
}

bool has_positions(const File& file) { return dynamic_cast<const NodeFile*>(&file) != nullptr; }

Result<std::size_t> read_parts(Task& task, File& file, std::span<const Part> parts, Offset offset) {
  const bool positions = offset || has_positions(file);
  if (!positions && total_of(parts) == 0) return std::size_t{0};
  if (parts.empty()) return Reading::move(task, file, {}, offset);
  if (positions || parts.size() == 1) return move_each<Reading>(task, file, parts, offset);
  return read_gathered(task, file, parts);
}

Result<std::size_t> write_parts(Task& task, File& file, std::span<const Part> parts,
                                Offset offset) {
  const bool positions = offset || has_positions(file);
  if (total_of(parts) == 0) return Writing::move(task, file, {}, offset);
  if (positions || parts.size() == 1) return move_each<Writing>(task, file, parts, offset);
  return write_gathered(task, file, parts);
}

SysResult read_into(Call& call, std::span<const Part> parts, Offset offset) {
  CLOCHE_ASSIGN(const FilePtr file, call.process.fds.get_readable(call.i32(0)));
  CLOCHE_ASSIGN(const std::size_t count, read_parts(call.task, *file, parts, offset));
  call.process.usage.read_bytes += count;
  ++call.process.usage.read_calls;
  return static_cast<std::int64_t>(count);
}

SysResult write_from(Call& call, std::span<const Part> parts, Offset offset) {
  CLOCHE_ASSIGN(const FilePtr file, call.process.fds.get_writable(call.i32(0)));
  CLOCHE_ASSIGN(const std::size_t count, write_parts(call.task, *file, parts, offset));
  call.process.usage.written_bytes += count;
  ++call.process.usage.write_calls;
  return static_cast<std::int64_t>(count);
}

// An offset argument: not negative.
Result<Offset> offset_of(const Call& call, std::size_t low) {
  if (call.i64(low) < 0) return Errno::inval;
  return Offset(call.u64(low));
}

SysResult read(Call& call) {
  CLOCHE_ASSIGN(const Part part, single(call, call.u32(1), call.u32(2)));
  return read_into(call, {&part, 1}, {});
}

SysResult write(Call& call) {
  CLOCHE_ASSIGN(const Part part, single(call, call.u32(1), call.u32(2)));
  return write_from(call, {&part, 1}, {});
}

SysResult readv(Call& call) {
  CLOCHE_ASSIGN(const auto parts, read_iovec(call, call.u32(1), call.i32(2)));
  return read_into(call, parts, {});
}

SysResult writev(Call& call) {
  CLOCHE_ASSIGN(const auto parts, read_iovec(call, call.u32(1), call.i32(2)));
  return write_from(call, parts, {});
}

SysResult pread64(Call& call) {
  CLOCHE_ASSIGN(const Offset offset, offset_of(call, 3));
  CLOCHE_ASSIGN(const Part part, single(call, call.u32(1), call.u32(2)));
  return read_into(call, {&part, 1}, offset);
}

SysResult pwrite64(Call& call) {
  CLOCHE_ASSIGN(const Offset offset, offset_of(call, 3));
  CLOCHE_ASSIGN(const Part part, single(call, call.u32(1), call.u32(2)));
  return write_from(call, {&part, 1}, offset);
}

SysResult preadv(Call& call) {
  CLOCHE_ASSIGN(const Offset offset, offset_of(call, 3));
  CLOCHE_ASSIGN(const auto parts, read_iovec(call, call.u32(1), call.i32(2)));
  return read_into(call, parts, offset);
}

SysResult pwritev(Call& call) {
  CLOCHE_ASSIGN(const Offset offset, offset_of(call, 3));
  CLOCHE_ASSIGN(const auto parts, read_iovec(call, call.u32(1), call.i32(2)));
  return write_from(call, parts, offset);
}

// Of preadv2 and pwritev2: an offset of -1 is the file's position.
Result<Offset> offset_or_position(const Call& call) {
  if (call.i64(3) == -1) return Offset();
  return offset_of(call, 3);
}

Result<void> check_ready(const Call& call, PollEvents wanted) {
  CLOCHE_ASSIGN(const FilePtr file, call.process.fds.get(call.i32(0)));
  if ((file->poll() & (wanted | pollerr | pollhup)) == 0) return Errno::again;
  return {};
}

SysResult preadv2(Call& call) {
  const std::uint32_t flags = call.u32(5);
  if ((flags & ~(rwf_hipri | rwf_nowait)) != 0) return Errno::notsup;
  CLOCHE_ASSIGN(const Offset offset, offset_or_position(call));
  CLOCHE_ASSIGN(const auto parts, read_iovec(call, call.u32(1), call.i32(2)));
  if ((flags & rwf_nowait) != 0) CLOCHE_TRY(check_ready(call, pollin));
  return read_into(call, parts, offset);
}

SysResult append_parts(Call& call, NodeFile& file, std::span<const Part> parts) {
  std::size_t done = 0;
  for (const Part& part : parts) {
    const Result<std::size_t> count = file.append(call.task, part);
    if (!count && done == 0) return count.error();
    if (!count) break;
    done += *count;
    if (*count < part.size()) break;
  }
  return static_cast<std::int64_t>(done);
}

SysResult pwritev2(Call& call) {
  const std::uint32_t flags = call.u32(5);
  if ((flags & ~(rwf_hipri | rwf_dsync | rwf_sync | rwf_nowait | rwf_append)) != 0)
    return Errno::notsup;
  CLOCHE_ASSIGN(const Offset offset, offset_or_position(call));
  CLOCHE_ASSIGN(const auto parts, read_iovec(call, call.u32(1), call.i32(2)));
  if ((flags & rwf_nowait) != 0) CLOCHE_TRY(check_ready(call, pollout));
  CLOCHE_ASSIGN(const FilePtr file, call.process.fds.get_writable(call.i32(0)));
  auto* node_file = dynamic_cast<NodeFile*>(file.get());
  const SysResult count = (flags & rwf_append) != 0 && node_file != nullptr
                              ? append_parts(call, *node_file, parts)
                              : write_from(call, parts, offset);
  if (count && node_file != nullptr && (flags & (rwf_dsync | rwf_sync)) != 0)
    CLOCHE_TRY(node_file->sync());
  return count;
}

SysResult llseek(Call& call) {
  CLOCHE_ASSIGN(const FilePtr file, call.process.fds.get(call.i32(0)));
  if ((file->flags() & o_path) != 0) return Errno::badf;
  if (!call.memory.holds(call.u32(3), sizeof(std::uint64_t))) return Errno::fault;
  const auto offset = static_cast<std::int64_t>((std::uint64_t{call.u32(1)} << 32) | call.u32(2));
  CLOCHE_ASSIGN(const std::uint64_t position, file->seek(offset, call.u32(4)));
  CLOCHE_TRY(call.memory.write(call.u32(3), position));
  return 0;
}

// --- From file to file --------------------------------------------------------------------------

// Moves up to `count` bytes from `in` at `*in_offset` to `out`, at `*out_offset` or its position;
// the offsets follow. What was moved before an error counts.
Result<std::size_t> copy_between(Task& task, File& in, std::uint64_t& in_offset, File& out,
                                 std::uint64_t* out_offset, std::size_t count) {
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

  static Result<OffsetArgument> read(const Call& call, std::uint32_t address, File& file) {
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
  Result<void> store(const Call& call, File& file) const {
    if (address != 0) return call.memory.write(address, value);
    CLOCHE_TRY(file.seek(static_cast<std::int64_t>(value), 0));
    return {};
  }
};

void count_copy(Process& process, std::size_t bytes) {
  process.usage.read_bytes += bytes;
  process.usage.written_bytes += bytes;
  ++process.usage.read_calls;
  ++process.usage.write_calls;
}

SysResult sendfile64(Call& call) {
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

SysResult copy_file_range(Call& call) {
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

constexpr auto entries = std::to_array<Entry>({
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

std::span<const Entry> transfer_calls() { return entries; }

}  // namespace cloche::kernel::lnx
