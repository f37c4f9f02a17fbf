// SPDX-License-Identifier: Apache-2.0
// Host ports: what the host's side of a run holds: output that is kept or passed on, input from a
// string, and the host's ends of pipes and terminals.
//
// Threads: HostCapture, HostPipe and HostTerminal take the kernel lock themselves, so none of their
// functions is called with it held, but where that is said; each may be used by several threads of
// the host. All of them must be gone before their Kernel, except that a File lives on while guests
// have it open.
//
// A File that was given to a guest must not lose its last reference on the host's side without the
// kernel lock. So a port keeps a reference of its own until release_guest_end(): call that when the
// SpawnRequest is gone. Before it, a reader sees no end of file.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "kernel/files/file.h"
#include "kernel/terminals/termios.h"
#include "kernel/time/kernel_handle.h"
#include "kernel/time/kernel_lock.h"
#include "kernel/time/wait_queue.h"

namespace cloche::kernel {

class Kernel;
class Pipe;
class Terminal;

// While a sink has bytes, others wait for their turn. However it returns, they have it then.
class PassingOn {
 public:
  PassingOn(bool& passing_on, WaitQueue& idle) : passing_on_(passing_on), idle_(idle) {
    passing_on_ = true;
  }
  ~PassingOn() {
    passing_on_ = false;
    idle_.wake_all();
  }
  PassingOn(const PassingOn&) = delete;
  PassingOn& operator=(const PassingOn&) = delete;

 private:
  bool& passing_on_;
  WaitQueue& idle_;
};

// Output that is kept, up to a limit between two takes; what comes after that is counted and
// dropped. Its guest's end looks like a pipe.
class HostCapture {
 public:
  static constexpr std::uint64_t default_limit_bytes = 64ULL << 20;
  // Gets all output as it is written, the dropped part as well, in order; called on the writing
  // guest's thread without the kernel lock, and the guest waits for it. It must not throw.
  using Sink = std::function<void(std::span<const std::byte>)>;

  explicit HostCapture(Kernel& kernel, std::uint64_t limit_bytes = default_limit_bytes,
                       Sink sink = {});
  ~HostCapture();
  HostCapture(const HostCapture&) = delete;
  HostCapture& operator=(const HostCapture&) = delete;

  // For SpawnRequest::files; null after release_guest_end().
  FilePtr guest_end() const { return guest_.get(); }
  void release_guest_end() EXCLUDES(kernel_lock) { guest_.reset(); }

  struct Output {
    std::string bytes;
    std::uint64_t written_bytes = 0;  // by the guests
    bool truncated() const noexcept { return written_bytes > bytes.size(); }
  };
  // What has been written up to now; takes it.
  Output take() EXCLUDES(kernel_lock);
  // The same for good: what guests write from now on is dropped, and the sink is not called any
  // more (waits for a call that is in progress).
  Output finish() EXCLUDES(kernel_lock);

  // Whether anybody has the guest's end, and who is told when that is over.
  bool is_open() const noexcept REQUIRES(kernel_lock);
  WaitQueue& closed() const noexcept REQUIRES(kernel_lock);

 private:
  struct State;
  class GuestEnd;

  Kernel& kernel_;
  const std::shared_ptr<State> state_;
  KernelHandle<FilePtr> guest_;
};

// Input from a string. It looks like a pipe that somebody has filled and closed; an empty one like
// /dev/null, since programs (rg, file) tell what they must read by the kind of their input.
class BytesFile : public File {
 public:
  BytesFile(Kernel& kernel, std::string bytes)
      : File(o_rdonly), kernel_(kernel), bytes_(std::move(bytes)) {}

  Result<std::size_t> read(Task& task, std::span<std::byte> to) override REQUIRES(kernel_lock);
  Result<std::uint64_t> seek(std::int64_t offset, std::uint32_t whence) override
      REQUIRES(kernel_lock);
  PollEvents poll() override REQUIRES(kernel_lock);
  WaitQueue* poll_queue() override REQUIRES(kernel_lock) { return &never_; }
  Result<std::int32_t> ioctl(Task& task, wasm::GuestMemory& memory, std::uint32_t request,
                             std::uint32_t argument) override REQUIRES(kernel_lock);
  Result<vfs::Stat> stat() override REQUIRES(kernel_lock);
  std::string description() const override REQUIRES(kernel_lock);

 private:
  Kernel& kernel_;
  std::string bytes_;
  std::size_t position_ = 0;
  std::uint64_t id_ = 0;
  WaitQueue never_;
};

// The host's end of a pipe whose other end a guest has: stdin that a thread feeds, or stdout that
// it reads.
class HostPipe {
 public:
  enum class Flow { to_guest, from_guest };

  HostPipe(Kernel& kernel, Flow flow);
  ~HostPipe();
  HostPipe(const HostPipe&) = delete;
  HostPipe& operator=(const HostPipe&) = delete;

  // For SpawnRequest::files; null after release_guest_end().
  FilePtr guest_end() const { return guest_.get(); }
  void release_guest_end() EXCLUDES(kernel_lock) { guest_.reset(); }
  // For who waits for several things at once.
  Pipe& pipe() const noexcept REQUIRES(kernel_lock) { return *pipe_; }

  // 0 is end of file: no guest has the other end open. ETIMEDOUT when the deadline passed,
  // ECANCELED after cancel().
  Result<std::size_t> read(std::span<std::byte> to, Deadline deadline = std::nullopt)
      EXCLUDES(kernel_lock);
  // All of it, or as much as was done before the deadline, the cancel or the end of the readers;
  // the errors as above, and EPIPE, when that was nothing.
  Result<std::size_t> write(std::span<const std::byte> from, Deadline deadline = std::nullopt)
      EXCLUDES(kernel_lock);
  // Until a guest reads the pipe, or looks whether it can. EPIPE when no guest has it open any
  // more, ECANCELED after cancel().
  Result<void> wait_until_wanted() EXCLUDES(kernel_lock);
  // Closes the host's end: end of file for the guest, or EPIPE.
  void close() EXCLUDES(kernel_lock);
  // All reads and writes, those that wait now and those to come, end with ECANCELED.
  void cancel() EXCLUDES(kernel_lock);

 private:
  Kernel& kernel_;
  const Flow flow_;
  KernelHandle<std::shared_ptr<Pipe>> pipe_;
  KernelHandle<FilePtr> guest_;
  bool open_ GUARDED_BY(kernel_lock) = true;
  bool canceled_ GUARDED_BY(kernel_lock) = false;
  WaitQueue canceled_changed_ GUARDED_BY(kernel_lock);
};

// The terminal emulator's side of a terminal.
class HostTerminal {
 public:
  // ENOSPC when the kernel has too many terminals.
  static Result<std::unique_ptr<HostTerminal>> create(Kernel& kernel, tty::WindowSize size)
      EXCLUDES(kernel_lock);
  ~HostTerminal();  // hangs up
  HostTerminal(const HostTerminal&) = delete;
  HostTerminal& operator=(const HostTerminal&) = delete;

  // For SpawnRequest::terminal, and its file for descriptors 0, 1 and 2.
  const std::shared_ptr<Terminal>& terminal() const noexcept { return terminal_.get(); }
  FilePtr guest_end() const { return guest_.get(); }
  void release_guest_end() EXCLUDES(kernel_lock) { guest_.reset(); }

  // What the terminal shows. 0: no guest has it open any more, and everything has been read.
  // ETIMEDOUT, ECANCELED as for pipes.
  Result<std::size_t> read(std::span<std::byte> to, Deadline deadline = std::nullopt)
      EXCLUDES(kernel_lock);
  // Typed bytes; as HostPipe::write, with EIO when no guest has it open.
  Result<std::size_t> write(std::span<const std::byte> typed, Deadline deadline = std::nullopt)
      EXCLUDES(kernel_lock);
  void resize(tty::WindowSize size) EXCLUDES(kernel_lock);
  // The line is dropped: SIGHUP for the session.
  void hang_up() EXCLUDES(kernel_lock);
  void cancel() EXCLUDES(kernel_lock);

 private:
  HostTerminal(Kernel& kernel, std::shared_ptr<Terminal> terminal, FilePtr guest);

  Kernel& kernel_;
  KernelHandle<std::shared_ptr<Terminal>> terminal_;
  KernelHandle<FilePtr> guest_;
  bool canceled_ GUARDED_BY(kernel_lock) = false;
  WaitQueue canceled_changed_ GUARDED_BY(kernel_lock);
};

}  // namespace cloche::kernel
