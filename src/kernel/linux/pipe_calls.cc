// SPDX-License-Identifier: Apache-2.0
// Pipes and what moves data through them, eventfd and signalfd.
#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "kernel/files/event_file.h"
#include "kernel/files/pipe.h"
#include "kernel/kernel.h"
#include "kernel/linux/call.h"
#include "kernel/process/signal_file.h"
#include "kernel/process/vectored_io.h"

namespace cloche::kernel::lnx {
namespace {

constexpr std::uint32_t splice_nonblock = 2, all_splice_flags = 0xf;
constexpr std::size_t splice_bytes = Pipe::default_capacity_bytes;  // one step at most

SysResult pipe2(Call& call) REQUIRES(kernel_lock) {
  const std::uint32_t flags = call.u32(1);
  if ((flags & ~(o_cloexec | o_nonblock | o_direct)) != 0) return Errno::inval;
  if (!call.memory.holds(call.u32(0), 2 * sizeof(std::int32_t))) return Errno::fault;
  const auto [reading, writing] = make_pipe(call.kernel, flags & (o_nonblock | o_direct));
  FdTable& fds = call.process.fds;
  CLOCHE_ASSIGN(const std::int32_t first, fds.install(reading, flags));
  const Result<std::int32_t> second = fds.install(writing, flags);
  if (!second) {
    (void)fds.close(first);
    return second.error();
  }
  CLOCHE_TRY(call.memory.write(call.u32(0), std::array{first, *second}));
  return 0;
}

SysResult eventfd2(Call& call) REQUIRES(kernel_lock) {
  constexpr std::uint32_t efd_semaphore = 1;
  const std::uint32_t flags = call.u32(1);
  if ((flags & ~(efd_semaphore | o_nonblock | o_cloexec)) != 0) return Errno::inval;
  const auto mode =
      (flags & efd_semaphore) != 0 ? EventFile::Mode::semaphore : EventFile::Mode::counter;
  const auto file = std::make_shared<EventFile>(call.kernel.next_file_id(), call.u32(0), mode,
                                                flags & o_nonblock);
  CLOCHE_ASSIGN(const std::int32_t fd, call.process.fds.install(file, flags));
  return fd;
}

SysResult signalfd4(Call& call) REQUIRES(kernel_lock) {
  const std::uint32_t flags = call.u32(3);
  if (call.u32(2) != sizeof(std::uint64_t) || (flags & ~(o_nonblock | o_cloexec)) != 0)
    return Errno::inval;
  CLOCHE_ASSIGN(const std::uint64_t bits, call.memory.read<std::uint64_t>(call.u32(1)));
  if (call.i32(0) != -1) {
    CLOCHE_ASSIGN(const FilePtr file, call.process.fds.get(call.i32(0)));
    const auto existing = std::dynamic_pointer_cast<SignalFile>(file);
    if (!existing) return Errno::inval;
    existing->set_wanted(SignalSet(bits));
    return call.i32(0);
  }
  const auto file = std::make_shared<SignalFile>(call.kernel.next_file_id(), call.process,
                                                 SignalSet(bits), flags & o_nonblock);
  CLOCHE_ASSIGN(const std::int32_t fd, call.process.fds.install(file, flags));
  return fd;
}

// --- splice, tee, vmsplice ---

// One side of a splice: a pipe, or any other file with an optional position.
struct Side {
  FilePtr file;
  std::shared_ptr<PipeFile> pipe;
  std::uint32_t offset_address = 0;  // 0: the file's own position
  std::uint64_t offset = 0;
};

Result<Side> side_of(const Call& call, Result<FilePtr> file, std::uint32_t offset_address) {
  if (!file) return file.error();
  Side side{*std::move(file), nullptr, offset_address, 0};
  side.pipe = std::dynamic_pointer_cast<PipeFile>(side.file);
  if (offset_address == 0) return side;
  if (side.pipe) return Errno::spipe;
  CLOCHE_ASSIGN(side.offset, call.memory.read<std::uint64_t>(offset_address));
  if (static_cast<std::int64_t>(side.offset) < 0) return Errno::inval;
  return side;
}

Result<void> advance(const Call& call, const Side& side, std::size_t count) {
  if (side.offset_address == 0) return {};
  return call.memory.write(side.offset_address, side.offset + count);
}

Result<void> wait_readable(const Call& call, PipeFile& pipe, std::uint32_t flags)
    REQUIRES(kernel_lock) {
  if ((flags & splice_nonblock) != 0 && pipe.pipe()->size() == 0 && pipe.pipe()->writers() != 0)
    return Errno::again;
  return pipe.wait_readable(call.task);
}

// There is room, or nobody who reads.
Result<void> wait_writable(const Call& call, PipeFile& pipe, std::uint32_t flags)
    REQUIRES(kernel_lock) {
  if (pipe.pipe()->readers() == 0) return broken_pipe(call.task);
  if ((flags & splice_nonblock) != 0 && pipe.pipe()->room() == 0) return Errno::again;
  CLOCHE_TRY(pipe.wait_writable(call.task));
  if (pipe.pipe()->readers() == 0) return broken_pipe(call.task);
  return {};
}

SysResult splice_from_pipe(Call& call, const Side& in, const Side& out, std::size_t length,
                           std::uint32_t flags) REQUIRES(kernel_lock) {
  for (;;) {
    CLOCHE_TRY(wait_readable(call, *in.pipe, flags));
    if (!out.pipe) break;
    CLOCHE_TRY(wait_writable(call, *out.pipe, flags));
    // While it slept for room somebody else may have emptied the source.
    if (in.pipe->pipe()->size() != 0 || in.pipe->pipe()->writers() == 0) break;
  }
  std::size_t most = std::min({length, splice_bytes, in.pipe->pipe()->size()});
  if (out.pipe) most = std::min(most, out.pipe->pipe()->room());
  std::vector<std::byte> bytes(most);
  CLOCHE_ASSIGN(const std::size_t count, in.pipe->pipe()->try_read(bytes));
  bytes.resize(count);
  if (count == 0) return 0;
  const Result<std::size_t> written = out.pipe ? out.pipe->pipe()->try_write(bytes)
                                      : out.offset_address != 0
                                          ? out.file->pwrite(call.task, bytes, out.offset)
                                          : out.file->write(call.task, bytes);
  // What could not be passed on is still in the pipe.
  in.pipe->pipe()->unread(std::span(bytes).subspan(written ? *written : 0));
  if (!written) return written.error();
  CLOCHE_TRY(advance(call, out, *written));
  return static_cast<std::int64_t>(*written);
}

SysResult splice_to_pipe(Call& call, const Side& in, const Side& out, std::size_t length,
                         std::uint32_t flags) REQUIRES(kernel_lock) {
  CLOCHE_TRY(wait_writable(call, *out.pipe, flags));
  std::vector<std::byte> bytes(std::min({length, splice_bytes, out.pipe->pipe()->room()}));
  CLOCHE_ASSIGN(const std::size_t count, in.offset_address != 0
                                             ? in.file->pread(call.task, bytes, in.offset)
                                             : in.file->read(call.task, bytes));
  if (count == 0) return 0;
  CLOCHE_ASSIGN(const std::size_t written,
                out.pipe->write(call.task, std::span(bytes).first(count)));
  CLOCHE_TRY(advance(call, in, written));
  return static_cast<std::int64_t>(written);
}

SysResult splice(Call& call) REQUIRES(kernel_lock) {
  const std::uint32_t length = call.u32(4);
  const std::uint32_t flags = call.u32(5);
  if ((flags & ~all_splice_flags) != 0) return Errno::inval;
  if (length == 0) return 0;
  CLOCHE_ASSIGN(const Side in,
                side_of(call, call.process.fds.get_readable(call.i32(0)), call.u32(1)));
  CLOCHE_ASSIGN(const Side out,
                side_of(call, call.process.fds.get_writable(call.i32(2)), call.u32(3)));
  if (in.pipe && out.pipe && in.pipe->pipe() == out.pipe->pipe()) return Errno::inval;
  if (!out.pipe && (out.file->flags() & o_append) != 0) return Errno::inval;
  if (in.pipe) return splice_from_pipe(call, in, out, length, flags);
  if (out.pipe) return splice_to_pipe(call, in, out, length, flags);
  return Errno::inval;
}

SysResult tee(Call& call) REQUIRES(kernel_lock) {
  const std::uint32_t flags = call.u32(3);
  if ((flags & ~all_splice_flags) != 0) return Errno::inval;
  CLOCHE_ASSIGN(const Side in, side_of(call, call.process.fds.get_readable(call.i32(0)), 0));
  CLOCHE_ASSIGN(const Side out, side_of(call, call.process.fds.get_writable(call.i32(1)), 0));
  if (!in.pipe || !out.pipe || in.pipe->pipe() == out.pipe->pipe()) return Errno::inval;
  if (call.u32(2) == 0) return 0;
  CLOCHE_TRY(wait_readable(call, *in.pipe, flags));
  if (in.pipe->pipe()->size() == 0) return 0;
  CLOCHE_TRY(wait_writable(call, *out.pipe, flags));
  const std::size_t most = std::min({static_cast<std::size_t>(call.u32(2)), splice_bytes,
                                     in.pipe->pipe()->size(), out.pipe->pipe()->room()});
  std::vector<std::byte> bytes(most);
  CLOCHE_ASSIGN(const std::size_t count, in.pipe->pipe()->try_peek(bytes));
  CLOCHE_ASSIGN(const std::size_t written,
                out.pipe->pipe()->try_write(std::span(bytes).first(count)));
  return static_cast<std::int64_t>(written);
}

// The bytes are copied: a guest's pages cannot be given away. The direction is that of the
// descriptor.
SysResult vmsplice(Call& call) REQUIRES(kernel_lock) {
  if ((call.u32(3) & ~all_splice_flags) != 0) return Errno::inval;
  CLOCHE_ASSIGN(const FilePtr file, call.process.fds.get(call.i32(0)));
  const auto pipe = std::dynamic_pointer_cast<PipeFile>(file);
  if (!pipe) return Errno::badf;
  CLOCHE_ASSIGN(const auto buffers, read_iovecs(call.memory, call.u32(1), call.u32(2)));
  std::int64_t done = 0;
  for (const GuestBuffer& part : buffers) {
    const Result<void> ready = pipe->writable() ? wait_writable(call, *pipe, call.u32(3))
                                                : wait_readable(call, *pipe, call.u32(3));
    const Result<std::size_t> moved = !ready             ? Result<std::size_t>(ready.error())
                                      : pipe->writable() ? pipe->write(call.task, part)
                                                         : pipe->read(call.task, part);
    if (!moved && done == 0) return moved.error();
    if (!moved) break;
    done += static_cast<std::int64_t>(*moved);
    if (*moved < part.size()) break;
  }
  return done;
}

}  // namespace

std::span<const Entry> pipe_calls() {
  static constexpr auto calls = std::to_array<Entry>({
      {19, "eventfd2", 2, eventfd2},
      {59, "pipe2", 2, pipe2},
      {74, "signalfd4", 4, signalfd4},
      {75, "vmsplice", 4, vmsplice, Support::partial, "bytes are copied, pages are not given away"},
      {76, "splice", 6, splice},
      {77, "tee", 4, tee},
  });
  return calls;
}

}  // namespace cloche::kernel::lnx
