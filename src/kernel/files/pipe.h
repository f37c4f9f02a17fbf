// SPDX-License-Identifier: Apache-2.0
// Pipe: a bounded stream of bytes between any number of read and write ends, as in pipe(7).
// PipeFile: one end (or, for a fifo opened O_RDWR, both). Kernel lock held.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/result.h"
#include "kernel/files/byte_ring.h"
#include "kernel/files/file.h"
#include "kernel/time/kernel_lock.h"
#include "kernel/time/wait_queue.h"

namespace cloche::kernel {

class Kernel;
class Task;

class Pipe {
 public:
  static constexpr std::size_t default_capacity_bytes = 64 << 10;
  static constexpr std::size_t max_capacity_bytes = 1 << 20;
  // PIPE_BUF: a write of at most this is done whole or not at all.
  static constexpr std::size_t atomic_bytes = 4096;

  Pipe(std::shared_ptr<BufferBudget> budget, std::uint64_t id);

  std::uint64_t id() const noexcept { return id_; }

  // The ends that are open.
  void open_reader() noexcept REQUIRES(kernel_lock);
  void open_writer() noexcept REQUIRES(kernel_lock);
  void close_reader() noexcept REQUIRES(kernel_lock);
  void close_writer() noexcept REQUIRES(kernel_lock);
  std::uint32_t readers() const noexcept { return readers_; }
  std::uint32_t writers() const noexcept { return writers_; }
  // How many were ever opened: what an open of a fifo waits for (the other may be gone again when
  // it looks).
  std::uint64_t readers_ever() const noexcept { return readers_ever_; }
  std::uint64_t writers_ever() const noexcept { return writers_ever_; }

  // Up to to.size() bytes. EAGAIN while it is empty and has writers; 0 is end of file.
  Result<std::size_t> try_read(std::span<std::byte> to) REQUIRES(kernel_lock);
  // EPIPE without readers (the signal is the caller's to send), EAGAIN while there is no room, or
  // not enough for an atomic write.
  Result<std::size_t> try_write(std::span<const std::byte> from) REQUIRES(kernel_lock);
  // The same without taking (tee).
  Result<std::size_t> try_peek(std::span<std::byte> to);
  // Puts back what was read and could not be passed on.
  void unread(std::span<const std::byte> bytes) REQUIRES(kernel_lock);

  std::size_t size() const noexcept { return ring_.size(); }
  std::size_t room() const noexcept { return ring_.room(); }
  std::size_t capacity() const noexcept { return ring_.capacity(); }
  // F_SETPIPE_SZ: the capacity it has then. EPERM over the maximum, EBUSY when it holds more than
  // that.
  Result<std::uint32_t> set_capacity(std::uint32_t bytes) REQUIRES(kernel_lock);

  // True when a write of PIPE_BUF bytes would be done at once; what POLLOUT means.
  bool has_room() const noexcept {
    return ring_.room() >= std::min(atomic_bytes, ring_.capacity());
  }
  // True when half of it is free: what a writer waits for that would rather write much at once.
  bool half_free() const noexcept { return ring_.room() >= ring_.capacity() / 2; }

  // A guest reads it, or looks whether it can be read, for the first time: who fills a pipe only
  // for one that wants it sleeps on `wanted` until then.
  void want() noexcept REQUIRES(kernel_lock) {
    if (!std::exchange(is_wanted_, true)) wanted.wake_all();
  }
  bool is_wanted() const noexcept { return is_wanted_; }
  WaitQueue wanted;

  // Woken when there is something to read, or no writer any more; when there is room, when half of
  // it is free, or no reader any more; when an end is opened.
  WaitQueue readable;
  WaitQueue writable;
  WaitQueue opened;

 private:
  ByteRing ring_;
  std::uint64_t id_;
  std::uint32_t readers_ = 0;
  std::uint32_t writers_ = 0;
  std::uint64_t readers_ever_ = 0;
  std::uint64_t writers_ever_ = 0;
  bool is_wanted_ = false;
};

class PipeFile : public File {
 public:
  // Opens the ends that the access mode names. `node`: of the fifo, empty for a pipe.
  PipeFile(std::shared_ptr<Pipe> pipe, std::uint32_t open_flags, vfs::Node node = {});
  ~PipeFile() override;

  const std::shared_ptr<Pipe>& pipe() const noexcept { return pipe_; }

  Result<std::size_t> read(Task& task, std::span<std::byte> to) override REQUIRES(kernel_lock);
  Result<std::size_t> write(Task& task, std::span<const std::byte> from) override
      REQUIRES(kernel_lock);
  PollEvents poll() override REQUIRES(kernel_lock);
  WaitQueue* poll_queue() override REQUIRES(kernel_lock);
  void poll_sources(PollSources& sources) override REQUIRES(kernel_lock);
  Result<std::int32_t> ioctl(Task& task, wasm::GuestMemory& memory, std::uint32_t request,
                             std::uint32_t argument) override REQUIRES(kernel_lock);
  Result<std::shared_ptr<File>> reopen(Task& task, std::uint32_t open_flags) override
      REQUIRES(kernel_lock);
  Result<vfs::Stat> stat() override REQUIRES(kernel_lock);
  const vfs::Node* node() const override REQUIRES(kernel_lock) { return node_ ? &node_ : nullptr; }
  std::string description() const override REQUIRES(kernel_lock);

  // Sleep until there is something to read (or end of file), or room; EAGAIN when nonblocking.
  Result<void> wait_readable(Task& task) REQUIRES(kernel_lock);
  Result<void> wait_writable(Task& task) REQUIRES(kernel_lock);

 private:
  std::shared_ptr<Pipe> pipe_;
  vfs::Node node_;
  std::uint64_t writers_before_;  // POLLHUP says that a writer left, not that none came yet
};

// A new pipe: its read end and its write end. `flags`: O_NONBLOCK, O_DIRECT.
std::pair<FilePtr, FilePtr> make_pipe(Kernel& kernel, std::uint32_t flags = 0)
    REQUIRES(kernel_lock);

// What write(2) does when nobody reads any more: SIGPIPE to the acting process; returns EPIPE.
Errno broken_pipe(Task& task) REQUIRES(kernel_lock);

// What stat(2) shows of a file that is no inode: `type` with mode 0600, owner the sandbox's user.
vfs::Stat anonymous_stat(vfs::FileType type, std::uint64_t id);

}  // namespace cloche::kernel
