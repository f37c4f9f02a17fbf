// SPDX-License-Identifier: Apache-2.0
#include "kernel/files/pipe.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "kernel/kernel.h"
#include "kernel/process/task.h"
#include "wasm/guest_memory.h"

namespace cloche::kernel {

Pipe::Pipe(std::shared_ptr<BufferBudget> budget, std::uint64_t id)
    : ring_(std::move(budget), default_capacity_bytes), id_(id) {}

void Pipe::open_reader() noexcept {
  ++readers_;
  ++readers_ever_;
  opened.wake_all();
}

void Pipe::open_writer() noexcept {
  ++writers_;
  ++writers_ever_;
  opened.wake_all();
}

void Pipe::close_reader() noexcept {
  if (--readers_ == 0) writable.wake_all();
}

void Pipe::close_writer() noexcept {
  if (--writers_ == 0) readable.wake_all();
}

Result<std::size_t> Pipe::try_read(std::span<std::byte> to) {
  if (to.empty()) return std::size_t{0};
  if (ring_.empty()) {
    if (writers_ != 0) return Errno::again;
    return std::size_t{0};
  }
  const bool had_room = has_room();
  const bool was_half_free = half_free();
  const std::size_t count = ring_.read(to);
  if ((!had_room && has_room()) || (!was_half_free && half_free())) writable.wake_all();
  return count;
}

Result<std::size_t> Pipe::try_write(std::span<const std::byte> from) {
  if (from.empty()) return std::size_t{0};
  if (readers_ == 0) return Errno::pipe;
  if (ring_.room() == 0) return Errno::again;
  if (from.size() <= atomic_bytes && ring_.make_room(from.size()) < from.size())
    return Errno::again;
  const std::size_t count = ring_.write(from);
  if (count == 0) return Errno::again;
  readable.wake_all();
  return count;
}

Result<std::size_t> Pipe::try_peek(std::span<std::byte> to) {
  if (ring_.empty() && writers_ != 0) return Errno::again;
  return ring_.peek(to);
}

void Pipe::unread(std::span<const std::byte> bytes) {
  if (ring_.unread(bytes) != 0) readable.wake_all();
}

Result<std::uint32_t> Pipe::set_capacity(std::uint32_t bytes) {
  if (bytes > max_capacity_bytes) return Errno::perm;
  const std::size_t rounded = std::max(atomic_bytes, std::bit_ceil(std::size_t{bytes}));
  const bool had_room = has_room();
  if (rounded < ring_.size()) return Errno::busy;
  if (!ring_.set_capacity(rounded)) return Errno::perm;
  if (!had_room && has_room()) writable.wake_all();
  return static_cast<std::uint32_t>(rounded);
}

PipeFile::PipeFile(std::shared_ptr<Pipe> pipe, std::uint32_t open_flags, vfs::Node node)
    : File(open_flags),
      pipe_(std::move(pipe)),
      node_(std::move(node)),
      writers_before_(pipe_->writers_ever() - pipe_->writers()) {
  if (readable()) pipe_->open_reader();
  if (writable()) pipe_->open_writer();
}

PipeFile::~PipeFile() {
  if (readable()) pipe_->close_reader();
  if (writable()) pipe_->close_writer();
}

Result<void> PipeFile::wait_readable(Task& task) {
  pipe_->want();
  while (pipe_->size() == 0 && pipe_->writers() != 0) {
    if (nonblocking()) return Errno::again;
    CLOCHE_TRY(task.block({&pipe_->readable}));
  }
  return {};
}

Result<void> PipeFile::wait_writable(Task& task) {
  while (pipe_->readers() != 0 && pipe_->room() == 0) {
    if (nonblocking()) return Errno::again;
    CLOCHE_TRY(task.block({&pipe_->writable}));
  }
  return {};
}

Result<std::size_t> PipeFile::read(Task& task, std::span<std::byte> to) {
  pipe_->want();
  for (;;) {
    Result<std::size_t> done = pipe_->try_read(to);
    if (done || done.error() != Errno::again || nonblocking()) return done;
    CLOCHE_TRY(task.block({&pipe_->readable}));
  }
}

Result<std::size_t> PipeFile::write(Task& task, std::span<const std::byte> from) {
  std::size_t written = 0;
  const bool atomic = from.size() <= Pipe::atomic_bytes;
  do {
    const Result<std::size_t> done = pipe_->try_write(from.subspan(written));
    if (done) {
      written += *done;
      continue;
    }
    if (done.error() == Errno::pipe) {
      const Errno broken = broken_pipe(task);
      if (written != 0) return written;
      return broken;
    }
    // The rest of a long write is not atomic: it takes whatever room there is.
    if (!atomic && pipe_->room() != 0) {
      const std::size_t some = std::min(pipe_->room(), from.size() - written);
      if (const Result<std::size_t> part = pipe_->try_write(from.subspan(written, some)); part) {
        written += *part;
        continue;
      }
    }
    if (nonblocking()) {
      if (written != 0) return written;
      return Errno::again;
    }
    if (const Result<void> slept = task.block({&pipe_->writable}); !slept) {
      if (written != 0) return written;
      return slept.error();
    }
  } while (written < from.size());
  return written;
}

PollEvents PipeFile::poll() {
  PollEvents ready = 0;
  if (readable()) {
    pipe_->want();
    if (pipe_->size() != 0) ready |= pollin | pollrdnorm;
    if (pipe_->writers() == 0 && pipe_->writers_ever() != writers_before_) ready |= pollhup;
  }
  if (writable()) {
    if (pipe_->has_room()) ready |= pollout | pollwrnorm;
    if (pipe_->readers() == 0) ready |= pollerr;
  }
  return ready;
}

WaitQueue* PipeFile::poll_queue() { return readable() ? &pipe_->readable : &pipe_->writable; }

void PipeFile::poll_sources(PollSources& sources) {
  if (readable()) sources.add(pipe_->readable);
  if (writable()) sources.add(pipe_->writable);
}

Result<std::int32_t> PipeFile::ioctl(Task&, wasm::GuestMemory& memory, std::uint32_t request,
                                     std::uint32_t argument) {
  constexpr std::uint32_t fionread = 0x541B;
  if (request != fionread) return Errno::notty;
  if (readable()) pipe_->want();
  CLOCHE_TRY(memory.write(argument, static_cast<std::int32_t>(pipe_->size())));
  return 0;
}

Result<std::shared_ptr<File>> PipeFile::reopen(Task&, std::uint32_t open_flags) {
  return std::shared_ptr<File>(std::make_shared<PipeFile>(pipe_, open_flags));
}

Result<vfs::Stat> PipeFile::stat() {
  if (node_) return node_.stat();
  return anonymous_stat(vfs::FileType::fifo, pipe_->id());
}

std::string PipeFile::description() const { return fmt::format("pipe:[{}]", pipe_->id()); }

std::pair<FilePtr, FilePtr> make_pipe(Kernel& kernel, std::uint32_t flags) {
  const auto pipe = std::make_shared<Pipe>(kernel.buffers(), kernel.next_file_id());
  return {std::make_shared<PipeFile>(pipe, o_rdonly | flags),
          std::make_shared<PipeFile>(pipe, o_wronly | flags)};
}

Errno broken_pipe(Task& task) {
  Process& process = task.process();
  (void)task.kernel().post(
      process,
      SignalInfo{
          .signo = sigpipe, .code = si_user, .pid = process.pid(), .uid = process.credentials.uid});
  return Errno::pipe;
}

vfs::Stat anonymous_stat(vfs::FileType type, std::uint64_t id) {
  const vfs::Timestamp now = vfs::host_clock().now();
  vfs::Stat stat;
  stat.dev = vfs::make_dev(0, 13);
  stat.ino = id;
  stat.type = type;
  stat.mode = 0600;
  stat.nlink = 1;
  stat.uid = vfs::Credentials{}.uid;
  stat.gid = vfs::Credentials{}.gid;
  stat.atime = stat.mtime = stat.ctime = stat.btime = now;
  return stat;
}

}  // namespace cloche::kernel
