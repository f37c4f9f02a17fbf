// SPDX-License-Identifier: Apache-2.0
// fd_read, fd_write, fd_pread, fd_pwrite.
#include "kernel/process/vectored_io.h"
#include "kernel/wasi/wasi_call.h"

namespace cloche::kernel::wasi {
namespace {

using Offset = std::optional<std::uint64_t>;  // absent: the file's position

// A position that does not fit a signed number is invalid (EINVAL, as for pread(2)).
Result<void> check_position(std::uint64_t offset) {
  if (offset > static_cast<std::uint64_t>(INT64_MAX)) return Errno::inval;
  return {};
}

Result<void> read_at(Call& call, std::uint32_t fd, std::uint32_t iovs, std::uint32_t count,
                     Offset offset, std::uint32_t out) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const FilePtr file, call.process.fds.get_readable(static_cast<std::int32_t>(fd)));
  if (offset) CLOCHE_TRY(check_position(*offset));
  CLOCHE_ASSIGN(const Call::Buffers buffers, call.buffers(iovs, count));
  CLOCHE_TRY(call.check_out<std::uint32_t>(out));
  CLOCHE_ASSIGN(const std::size_t done, read_vector(call.task, *file, buffers, offset));
  return call.memory.write(out, static_cast<std::uint32_t>(done));
}

Result<void> write_at(Call& call, std::uint32_t fd, std::uint32_t iovs, std::uint32_t count,
                      Offset offset, std::uint32_t out) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const FilePtr file, call.process.fds.get_writable(static_cast<std::int32_t>(fd)));
  if (offset) CLOCHE_TRY(check_position(*offset));
  CLOCHE_ASSIGN(const Call::Buffers buffers, call.buffers(iovs, count));
  CLOCHE_TRY(call.check_out<std::uint32_t>(out));
  CLOCHE_ASSIGN(const std::size_t done, write_vector(call.task, *file, buffers, offset));
  return call.memory.write(out, static_cast<std::uint32_t>(done));
}

Result<void> fd_read(Call& call, std::uint32_t fd, std::uint32_t iovs, std::uint32_t count,
                     std::uint32_t out) REQUIRES(kernel_lock) {
  return read_at(call, fd, iovs, count, {}, out);
}

Result<void> fd_write(Call& call, std::uint32_t fd, std::uint32_t iovs, std::uint32_t count,
                      std::uint32_t out) REQUIRES(kernel_lock) {
  return write_at(call, fd, iovs, count, {}, out);
}

Result<void> fd_pread(Call& call, std::uint32_t fd, std::uint32_t iovs, std::uint32_t count,
                      std::uint64_t offset, std::uint32_t out) REQUIRES(kernel_lock) {
  return read_at(call, fd, iovs, count, offset, out);
}

Result<void> fd_pwrite(Call& call, std::uint32_t fd, std::uint32_t iovs, std::uint32_t count,
                       std::uint64_t offset, std::uint32_t out) REQUIRES(kernel_lock) {
  return write_at(call, fd, iovs, count, offset, out);
}

}  // namespace

Functions transfer_calls() {
  return {function<"fd_read", fd_read>(), function<"fd_write", fd_write>(),
          function<"fd_pread", fd_pread>(), function<"fd_pwrite", fd_pwrite>()};
}

}  // namespace cloche::kernel::wasi
