// fd_read, fd_write, fd_pread, fd_pwrite.
//
// Only the first piece of a transfer may sleep: what has been moved is reported, however the rest
// goes. A regular file takes the guest's buffers one after the other (it never sleeps). Anything
// else sees one buffer, so that a datagram stays one and a second piece cannot block after the
// first: several are gathered in a buffer of the host.
#include <algorithm>
#include <cstring>

#include "kernel/files/node_file.h"
#include "kernel/wasi/wasi_call.h"
#include "kernel/wasi/wasi_transfer.h"

namespace cloche::kernel::wasi {

namespace {

constexpr std::size_t gather_max = std::size_t{64} << 10;  // a pipe's capacity

std::size_t total(const Call::Buffers& buffers) {
  std::size_t bytes = 0;
  for (const std::span<std::byte> buffer : buffers) bytes += buffer.size();
  return bytes;
}

// `piece(buffer, done)` for each buffer until one comes back short.
Result<std::size_t> one_by_one(const Call::Buffers& buffers, const auto& piece) {
  std::size_t done = 0;
  for (const std::span<std::byte> buffer : buffers) {
    const Result<std::size_t> count = piece(buffer, done);
    if (!count && done == 0) return count.error();
    if (!count) break;
    done += *count;
    if (*count < buffer.size()) break;
  }
  return done;
}

bool is_inode(const File& file) { return dynamic_cast<const NodeFile*>(&file) != nullptr; }

std::vector<std::byte> gathered(const Call::Buffers& buffers, std::size_t skip, std::size_t limit) {
  std::vector<std::byte> bytes;
  bytes.reserve(std::min(total(buffers) - skip, limit));
  for (std::span<std::byte> buffer : buffers) {
    const std::size_t skipped = std::min(skip, buffer.size());
    skip -= skipped;
    buffer = buffer.subspan(skipped, std::min(buffer.size() - skipped, limit - bytes.size()));
    bytes.insert(bytes.end(), buffer.begin(), buffer.end());
  }
  return bytes;
}

Result<std::size_t> write_gathered(const Call::Buffers& buffers, const WriteBytes& write) {
  const std::size_t all = total(buffers);
  std::size_t done = 0;
  while (done < all) {
    const std::vector<std::byte> bytes = gathered(buffers, done, gather_max);
    const Result<std::size_t> count = write(bytes);
    if (!count && done == 0) return count.error();
    if (!count) break;
    done += *count;
    if (*count < bytes.size()) break;
  }
  return done;
}

}  // namespace

Result<std::size_t> read_scattered(const Call::Buffers& buffers, const ReadBytes& read) {
  if (buffers.size() <= 1) return read(buffers.empty() ? std::span<std::byte>{} : buffers.front());
  std::vector<std::byte> bytes(std::min(total(buffers), gather_max));
  CLOCHE_ASSIGN(const std::size_t count, read(std::span(bytes)));
  std::size_t done = 0;
  for (const std::span<std::byte> buffer : buffers) {
    const std::size_t size = std::min(buffer.size(), count - done);
    if (size != 0) std::memcpy(buffer.data(), bytes.data() + done, size);
    done += size;
  }
  return count;
}

Result<std::size_t> write_scattered(const Call::Buffers& buffers, const WriteBytes& write) {
  if (buffers.size() <= 1) {
    return write(buffers.empty() ? std::span<const std::byte>{} : buffers.front());
  }
  return write_gathered(buffers, write);
}

namespace {

Result<void> fd_read(Call& call, std::uint32_t fd, std::uint32_t iovs, std::uint32_t count,
                     std::uint32_t out) {
  CLOCHE_ASSIGN(const FilePtr file, call.process.fds.get_readable(static_cast<std::int32_t>(fd)));
  CLOCHE_ASSIGN(const Call::Buffers buffers, call.buffers(iovs, count));
  CLOCHE_TRY(call.check_out<std::uint32_t>(out));
  const auto read = [&](std::span<std::byte> to) { return file->read(call.task, to); };
  const auto piece = [&](std::span<std::byte> to, std::size_t) {
    return file->read(call.task, to);
  };
  CLOCHE_ASSIGN(const std::size_t done, buffers.size() > 1 && is_inode(*file)
                                            ? one_by_one(buffers, piece)
                                            : read_scattered(buffers, read));
  return call.memory.write(out, static_cast<std::uint32_t>(done));
}

Result<void> fd_write(Call& call, std::uint32_t fd, std::uint32_t iovs, std::uint32_t count,
                      std::uint32_t out) {
  CLOCHE_ASSIGN(const FilePtr file, call.process.fds.get_writable(static_cast<std::int32_t>(fd)));
  CLOCHE_ASSIGN(const Call::Buffers buffers, call.buffers(iovs, count));
  CLOCHE_TRY(call.check_out<std::uint32_t>(out));
  const auto write = [&](std::span<const std::byte> from) { return file->write(call.task, from); };
  const auto piece = [&](std::span<std::byte> from, std::size_t) {
    return file->write(call.task, from);
  };
  CLOCHE_ASSIGN(const std::size_t done, buffers.size() > 1 && is_inode(*file)
                                            ? one_by_one(buffers, piece)
                                            : write_scattered(buffers, write));
  return call.memory.write(out, static_cast<std::uint32_t>(done));
}

// A position beyond what a signed one can say is none (EINVAL, as pread(2)).
Result<void> check_position(std::uint64_t offset) {
  if (offset > static_cast<std::uint64_t>(INT64_MAX)) return Errno::inval;
  return {};
}

Result<void> fd_pread(Call& call, std::uint32_t fd, std::uint32_t iovs, std::uint32_t count,
                      std::uint64_t offset, std::uint32_t out) {
  CLOCHE_ASSIGN(const FilePtr file, call.process.fds.get_readable(static_cast<std::int32_t>(fd)));
  CLOCHE_TRY(check_position(offset));
  CLOCHE_ASSIGN(const Call::Buffers buffers, call.buffers(iovs, count));
  CLOCHE_TRY(call.check_out<std::uint32_t>(out));
  const auto piece = [&](std::span<std::byte> to, std::size_t done) {
    return file->pread(call.task, to, offset + done);
  };
  // Without a buffer the file still says whether it has positions.
  CLOCHE_ASSIGN(const std::size_t done,
                buffers.empty() ? piece({}, 0) : one_by_one(buffers, piece));
  return call.memory.write(out, static_cast<std::uint32_t>(done));
}

Result<void> fd_pwrite(Call& call, std::uint32_t fd, std::uint32_t iovs, std::uint32_t count,
                       std::uint64_t offset, std::uint32_t out) {
  CLOCHE_ASSIGN(const FilePtr file, call.process.fds.get_writable(static_cast<std::int32_t>(fd)));
  CLOCHE_TRY(check_position(offset));
  CLOCHE_ASSIGN(const Call::Buffers buffers, call.buffers(iovs, count));
  CLOCHE_TRY(call.check_out<std::uint32_t>(out));
  const auto piece = [&](std::span<std::byte> from, std::size_t done) {
    return file->pwrite(call.task, from, offset + done);
  };
  CLOCHE_ASSIGN(const std::size_t done,
                buffers.empty() ? piece({}, 0) : one_by_one(buffers, piece));
  return call.memory.write(out, static_cast<std::uint32_t>(done));
}

}  // namespace

Functions transfer_calls() {
  return {function<"fd_read", fd_read>(), function<"fd_write", fd_write>(),
          function<"fd_pread", fd_pread>(), function<"fd_pwrite", fd_pwrite>()};
}

}  // namespace cloche::kernel::wasi
