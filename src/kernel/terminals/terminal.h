// SPDX-License-Identifier: Apache-2.0
// Terminal: a pseudo terminal: a keyboard and a screen on the master's side, a terminal on the
// slave's, a line discipline between them. TerminalFile is a descriptor of the slave (/dev/pts/N,
// /dev/tty), MasterFile the one of the master (/dev/ptmx). Kernel lock held.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "kernel/files/byte_ring.h"
#include "kernel/files/file.h"
#include "kernel/process/process.h"
#include "kernel/terminals/line_discipline.h"
#include "kernel/terminals/termios.h"
#include "kernel/time/kernel_lock.h"
#include "kernel/time/wait_queue.h"

namespace cloche::kernel {

class Kernel;
class Task;

class Terminal : public std::enable_shared_from_this<Terminal> {
 public:
  static constexpr std::size_t screen_bytes = 64 << 10;

  Terminal(Kernel& kernel, std::uint32_t number);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  Kernel& kernel() const noexcept { return kernel_; }
  std::uint32_t number() const noexcept { return number_; }

  // --- The session that it controls ---

  // The terminal becomes the controlling one of the session, which already says so.
  void attach(const std::shared_ptr<TtySession>& session);
  void detach() noexcept { session_.reset(); }
  // What an open without O_NOCTTY does: a session leader without a controlling terminal gets this
  // one.
  void offer_controlling(Process& process) REQUIRES(kernel_lock);
  std::shared_ptr<TtySession> session() const { return session_.lock(); }
  // The leader has ended: hangs up, SIGHUP and SIGCONT to the foreground group.
  void session_ended(Kernel& kernel) REQUIRES(kernel_lock);
  // A signal from the keyboard (or a new window size) for the foreground group.
  void signal_foreground(int signo) REQUIRES(kernel_lock);

  // --- The slave's side, for processes ---

  Result<std::size_t> read(Task& task, std::span<std::byte> to, const File& file)
      REQUIRES(kernel_lock);
  Result<std::size_t> write(Task& task, std::span<const std::byte> from, const File& file)
      REQUIRES(kernel_lock);
  PollEvents poll_slave() const;
  // Job control: a process of a background group that touches its terminal is stopped by `signo`
  // here. EIO when it cannot be. Errno::restart when a handler must run.
  Result<void> check_foreground(Task& task, int signo) REQUIRES(kernel_lock);
  // Grows when it hangs up; files opened before are dead then.
  std::uint64_t hangups() const noexcept { return hangups_; }

  void slave_opened() REQUIRES(kernel_lock);
  void slave_closed() REQUIRES(kernel_lock);
  // A new master's slave cannot be opened before unlockpt.
  bool locked() const noexcept { return locked_; }
  void set_locked() noexcept { locked_ = true; }

  // --- The master's side: a terminal emulator, in the guest or on the host ---

  // Typed bytes; EAGAIN while the reader is behind, EIO without a slave side.
  Result<std::size_t> type(std::span<const std::byte> typed) REQUIRES(kernel_lock);
  // What the screen shows; EAGAIN while there is nothing, EIO when all slaves are closed and
  // everything has been read.
  Result<std::size_t> take_screen(std::span<std::byte> to) REQUIRES(kernel_lock);
  PollEvents poll_master() const;
  // The emulator is gone: SIGHUP and SIGCONT to the session's leader, and the terminal is dead for
  // good.
  void master_closed() REQUIRES(kernel_lock);

  // --- Both ---

  enum class Side { slave, master };
  Result<std::int32_t> ioctl(Task& task, wasm::GuestMemory& memory, std::uint32_t request,
                             std::uint32_t argument, Side side) REQUIRES(kernel_lock);
  void set_window_size(const tty::WindowSize& size) REQUIRES(kernel_lock);

  // Woken when the other side did something.
  WaitQueue slave_changed;
  WaitQueue master_changed;

 private:
  // The families of ioctls, each ENOTTY for what is not its own; terminal_ioctl.cc.
  struct Ioctl {
    Task& task;
    const wasm::GuestMemory& memory;
    std::uint32_t request;
    std::uint32_t argument;
    Side side;
  };
  Result<std::int32_t> ioctl_settings(const Ioctl& call) REQUIRES(kernel_lock);
  Result<std::int32_t> ioctl_session(const Ioctl& call) REQUIRES(kernel_lock);
  Result<std::int32_t> ioctl_state(const Ioctl& call) REQUIRES(kernel_lock);
  Result<std::int32_t> ioctl_master(const Ioctl& call) REQUIRES(kernel_lock);
  Result<void> set_termios(const Ioctl& call, const tty::Termios& termios,
                           std::uint32_t first_request) REQUIRES(kernel_lock);
  Result<void> set_controlling(Process& process) REQUIRES(kernel_lock);
  Result<void> set_foreground(const Ioctl& call) REQUIRES(kernel_lock);
  Result<void> give_up_controlling(Process& process) REQUIRES(kernel_lock);
  void flush(std::uint32_t queues) REQUIRES(kernel_lock);
  // Drops what the master could not have read yet: on Linux it has a buffer of its own.
  void flush_screen() REQUIRES(kernel_lock);
  // The master's own flush: of its input, which is what it could have read. Its output is never on
  // its way: what is typed is the slave's at once.
  void flush_master(std::uint32_t queues) REQUIRES(kernel_lock);
  bool has_screen_room() const noexcept { return screen_.room() >= wake_bytes; }
  void apply(const LineDiscipline::Effects& effects) REQUIRES(kernel_lock);
  void hang_up() REQUIRES(kernel_lock);
  bool controls(const Process& process) const REQUIRES(kernel_lock);

  static constexpr std::size_t master_bytes = 4096;  // of what is shown that no flush takes back
  static constexpr std::size_t wake_bytes = 256;  // room on the screen that a writer is woken for

  Kernel& kernel_;
  std::uint32_t number_;
  std::weak_ptr<TtySession> session_;
  LineDiscipline discipline_;
  ByteRing screen_;
  tty::WindowSize window_;
  std::uint32_t slaves_ = 0;
  bool slave_was_opened_ = false;
  bool master_open_ = true;
  bool locked_ = false;
  std::uint64_t hangups_ = 0;
};

class TerminalFile : public File {
 public:
  TerminalFile(std::shared_ptr<Terminal> terminal, vfs::Node node, std::uint32_t open_flags);
  ~TerminalFile() override;

  const std::shared_ptr<Terminal>& terminal() const noexcept { return terminal_; }

  Result<std::size_t> read(Task& task, std::span<std::byte> to) override REQUIRES(kernel_lock);
  Result<std::size_t> write(Task& task, std::span<const std::byte> from) override
      REQUIRES(kernel_lock);
  PollEvents poll() override REQUIRES(kernel_lock);
  WaitQueue* poll_queue() override REQUIRES(kernel_lock) { return &terminal_->slave_changed; }
  Result<std::int32_t> ioctl(Task& task, wasm::GuestMemory& memory, std::uint32_t request,
                             std::uint32_t argument) override REQUIRES(kernel_lock);
  Result<vfs::Stat> stat() override REQUIRES(kernel_lock) { return node_.stat(); }
  const vfs::Node* node() const override REQUIRES(kernel_lock) { return &node_; }
  std::string description() const override REQUIRES(kernel_lock);
  bool is_terminal() const override REQUIRES(kernel_lock) { return !hung_up(); }

 private:
  bool hung_up() const noexcept { return terminal_->hangups() != hangups_at_open_; }

  std::shared_ptr<Terminal> terminal_;
  vfs::Node node_;
  std::uint64_t hangups_at_open_;
};

class MasterFile : public File {
 public:
  MasterFile(std::shared_ptr<Terminal> terminal, vfs::Node node, std::uint32_t open_flags);
  ~MasterFile() override;

  const std::shared_ptr<Terminal>& terminal() const noexcept { return terminal_; }

  Result<std::size_t> read(Task& task, std::span<std::byte> to) override REQUIRES(kernel_lock);
  Result<std::size_t> write(Task& task, std::span<const std::byte> from) override
      REQUIRES(kernel_lock);
  PollEvents poll() override REQUIRES(kernel_lock) { return terminal_->poll_master(); }
  WaitQueue* poll_queue() override REQUIRES(kernel_lock) { return &terminal_->master_changed; }
  Result<std::int32_t> ioctl(Task& task, wasm::GuestMemory& memory, std::uint32_t request,
                             std::uint32_t argument) override REQUIRES(kernel_lock);
  Result<vfs::Stat> stat() override REQUIRES(kernel_lock);
  const vfs::Node* node() const override REQUIRES(kernel_lock) { return node_ ? &node_ : nullptr; }
  std::string description() const override REQUIRES(kernel_lock) { return "/dev/ptmx"; }
  bool is_terminal() const override REQUIRES(kernel_lock) { return true; }

 private:
  std::shared_ptr<Terminal> terminal_;
  vfs::Node node_;
};

}  // namespace cloche::kernel
