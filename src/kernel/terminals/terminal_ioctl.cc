// SPDX-License-Identifier: Apache-2.0
// The ioctls of a terminal, ioctl_tty(2), with riscv32's structures.
#include <algorithm>
#include <array>
#include <cstring>

#include "kernel/kernel.h"
#include "kernel/process/task.h"
#include "kernel/terminals/terminal.h"
#include "kernel/terminals/terminal_table.h"
#include "wasm/guest_memory.h"

namespace cloche::kernel {
namespace {

constexpr std::uint32_t tcgets = 0x5401, tcsets = 0x5402, tcsetsw = 0x5403, tcsetsf = 0x5404,
                        tcgeta = 0x5405, tcseta = 0x5406, tcsetaw = 0x5407, tcsetaf = 0x5408,
                        tcsbrk = 0x5409, tcxonc = 0x540A, tcflsh = 0x540B, tiocexcl = 0x540C,
                        tiocnxcl = 0x540D, tiocsctty = 0x540E, tiocgpgrp = 0x540F,
                        tiocspgrp = 0x5410, tiocoutq = 0x5411, tiocsti = 0x5412,
                        tiocgwinsz = 0x5413, tiocswinsz = 0x5414, fionread = 0x541B,
                        tioccons = 0x541D, tiocpkt = 0x5420, tiocnotty = 0x5422, tiocsetd = 0x5423,
                        tiocgetd = 0x5424, tcsbrkp = 0x5425, tiocsbrk = 0x5427, tioccbrk = 0x5428,
                        tiocgsid = 0x5429, tcgets2 = 0x802C542A, tcsets2 = 0x402C542B,
                        tcsetsw2 = 0x402C542C, tcsetsf2 = 0x402C542D, tiocgptn = 0x80045430,
                        tiocsptlck = 0x40045431, tiocgdev = 0x80045432, tiocsig = 0x40045436,
                        tiocvhangup = 0x5437, tiocgpkt = 0x80045438, tiocgptlck = 0x80045439,
                        tiocgexcl = 0x80045440, tiocgptpeer = 0x5441;

constexpr std::uint32_t flush_input_queue = 0, flush_output_queue = 1, flush_both_queues = 2;

template <typename T>
Result<std::int32_t> answer(const wasm::GuestMemory& memory, std::uint32_t address,
                            const T& value) {
  CLOCHE_TRY(memory.write(address, value));
  return 0;
}

Result<std::int32_t> done(const Result<void>& result) {
  if (!result) return result.error();
  return 0;
}

}  // namespace

Result<std::int32_t> Terminal::ioctl(Task& task, wasm::GuestMemory& memory, std::uint32_t request,
                                     std::uint32_t argument, Side side) {
  const Ioctl call{task, memory, request, argument, side};
  using Family = Result<std::int32_t> (Terminal::*)(const Ioctl&);
  for (const Family family :
       {&Terminal::ioctl_settings, &Terminal::ioctl_session, &Terminal::ioctl_state}) {
    Result<std::int32_t> result = (this->*family)(call);
    if (result || result.error() != Errno::notty) return result;
  }
  return side == Side::master ? ioctl_master(call) : Errno::notty;
}

Result<void> Terminal::set_termios(const Ioctl& call, const tty::Termios& termios,
                                   std::uint32_t first_request) {
  if (call.side == Side::slave) CLOCHE_TRY(check_foreground(call.task, sigttou));
  // The requests come in threes: now, after the output is out (it is: the screen takes it at once),
  // and with a flush of input.
  if (call.request - first_request == 2) flush(flush_input_queue);
  discipline_.set_termios(termios);
  slave_changed.wake_all();
  master_changed.wake_all();
  return {};
}

Result<std::int32_t> Terminal::ioctl_settings(const Ioctl& call) {
  tty::Termios termios = discipline_.termios();
  switch (call.request) {
    case tcgets: {
      std::array<std::byte, tty::termios_bytes> bytes{};
      std::memcpy(bytes.data(), &termios, bytes.size());
      return answer(call.memory, call.argument, bytes);
    }
    case tcsets:
    case tcsetsw:
    case tcsetsf: {
      CLOCHE_ASSIGN(const auto bytes,
                    (call.memory.read<std::array<std::byte, tty::termios_bytes>>(call.argument)));
      std::memcpy(static_cast<void*>(&termios), bytes.data(), bytes.size());
      return done(set_termios(call, termios, tcsets));
    }
    case tcgets2: return answer(call.memory, call.argument, termios);
    case tcsets2:
    case tcsetsw2:
    case tcsetsf2: {
      CLOCHE_ASSIGN(termios, call.memory.read<tty::Termios>(call.argument));
      return done(set_termios(call, termios, tcsets2));
    }
    case tcgeta: {
      tty::Termio old{};
      old.iflag = static_cast<std::uint16_t>(termios.iflag);
      old.oflag = static_cast<std::uint16_t>(termios.oflag);
      old.cflag = static_cast<std::uint16_t>(termios.cflag);
      old.lflag = static_cast<std::uint16_t>(termios.lflag);
      old.line = termios.line;
      std::memcpy(old.cc, termios.cc.data(), sizeof(old.cc));
      return answer(call.memory, call.argument, old);
    }
    case tcseta:
    case tcsetaw:
    case tcsetaf: {
      CLOCHE_ASSIGN(const tty::Termio old, call.memory.read<tty::Termio>(call.argument));
      constexpr std::uint32_t upper_half = 0xffff0000;
      termios.iflag = (termios.iflag & upper_half) | old.iflag;
      termios.oflag = (termios.oflag & upper_half) | old.oflag;
      termios.cflag = (termios.cflag & upper_half) | old.cflag;
      termios.lflag = (termios.lflag & upper_half) | old.lflag;
      termios.line = old.line;
      std::memcpy(termios.cc.data(), old.cc, sizeof(old.cc));
      return done(set_termios(call, termios, tcseta));
    }
    case tiocgwinsz: return answer(call.memory, call.argument, window_);
    case tiocswinsz: {
      CLOCHE_ASSIGN(const tty::WindowSize size, call.memory.read<tty::WindowSize>(call.argument));
      set_window_size(size);
      return 0;
    }
    default: return Errno::notty;
  }
}

// --- Sessions and job control ---

Result<void> Terminal::set_controlling(Process& process) {
  if (controls(process) && process.session->id == process.pid()) return {};
  if (process.session->id != process.pid() || process.session->terminal) return Errno::perm;
  // It already controls another session, which keeps it.
  if (!session_.expired()) return Errno::perm;
  process.session->terminal = shared_from_this();
  process.session->foreground = process.pgid;
  attach(process.session);
  return {};
}

void Terminal::offer_controlling(Process& process) {
  if (process.session->id == process.pid() && !process.session->terminal)
    (void)set_controlling(process);
}

Result<void> Terminal::give_up_controlling(Process& process) {
  if (!controls(process)) return Errno::notty;
  if (process.session->id != process.pid()) return {};
  const std::shared_ptr<Terminal> keep = std::exchange(process.session->terminal, nullptr);
  signal_foreground(sighup);
  signal_foreground(sigcont);
  detach();
  return {};
}

Result<void> Terminal::set_foreground(const Ioctl& call) {
  Process& process = call.task.process();
  if (!controls(process)) return Errno::notty;
  CLOCHE_ASSIGN(const Pid group, call.memory.read<Pid>(call.argument));
  if (group < 0) return Errno::inval;
  CLOCHE_TRY(check_foreground(call.task, sigttou));
  // While it was stopped the session may have lost the terminal.
  if (!controls(process)) return Errno::notty;
  bool exists = false;
  for (const auto& [pid, member] : kernel_.processes()) {
    if (member->pgid != group) continue;
    if (member->session != process.session) return Errno::perm;
    exists = true;
  }
  if (!exists) return Errno::srch;
  process.session->foreground = group;
  return {};
}

Result<std::int32_t> Terminal::ioctl_session(const Ioctl& call) {
  Process& process = call.task.process();
  const std::shared_ptr<TtySession> session = session_.lock();
  switch (call.request) {
    case tiocsctty: return done(set_controlling(process));
    case tiocnotty: return done(give_up_controlling(process));
    case tiocgpgrp:
      if (call.side == Side::slave && !controls(process)) return Errno::notty;
      return answer(call.memory, call.argument, session ? session->foreground : Pid{0});
    case tiocspgrp: return done(set_foreground(call));
    case tiocgsid:
      if (call.side == Side::slave && !controls(process)) return Errno::notty;
      if (!session) return Errno::notty;
      return answer(call.memory, call.argument, session->id);
    default: return Errno::notty;
  }
}

// --- Queues and flow ---

void Terminal::flush(std::uint32_t queues) {
  if (queues != flush_output_queue) discipline_.flush_input();
  if (queues != flush_input_queue) flush_screen();
  slave_changed.wake_all();
  master_changed.wake_all();
}

void Terminal::flush_screen() {
  std::array<std::byte, master_bytes> kept;
  const std::size_t count = screen_.peek(kept);
  screen_.clear();
  (void)screen_.write(std::span(kept).first(count));
}

void Terminal::flush_master(std::uint32_t queues) {
  if (queues == flush_output_queue) return;
  screen_.discard(std::min(screen_.size(), master_bytes));
  slave_changed.wake_all();
}

Result<std::int32_t> Terminal::ioctl_state(const Ioctl& call) {
  switch (call.request) {
    case fionread: {
      const std::size_t bytes =
          call.side == Side::slave ? discipline_.readable_bytes() : screen_.size();
      return answer(call.memory, call.argument, static_cast<std::int32_t>(bytes));
    }
    case tiocoutq:
      return answer(call.memory, call.argument, static_cast<std::int32_t>(screen_.size()));
    case tcflsh:
      if (call.argument > flush_both_queues) return Errno::inval;
      if (call.side == Side::master) {
        flush_master(call.argument);
        return 0;
      }
      CLOCHE_TRY(check_foreground(call.task, sigttou));
      flush(call.argument);
      return 0;
    case tcxonc:
      if (call.argument > 3) return Errno::inval;
      if (call.side == Side::slave) CLOCHE_TRY(check_foreground(call.task, sigttou));
      if (call.argument == 0) discipline_.set_output_stopped();
      if (call.argument == 1) discipline_.set_output_started();
      slave_changed.wake_all();
      return 0;
    case tcsbrk:
    case tcsbrkp:
      // There is no line to break, and output is never on its way.
      if (call.side == Side::slave) CLOCHE_TRY(check_foreground(call.task, sigttou));
      return 0;
    case tiocsbrk:
    case tioccbrk:
    case tiocexcl:
    case tiocnxcl: return 0;
    case tiocgexcl:
    case tiocgetd: return answer(call.memory, call.argument, std::int32_t{0});
    case tiocsetd: {
      CLOCHE_ASSIGN(const std::int32_t discipline, call.memory.read<std::int32_t>(call.argument));
      return discipline == 0 ? Result<std::int32_t>(0) : Errno::inval;
    }
    case tiocgdev:
      return answer(
          call.memory, call.argument,
          static_cast<std::uint32_t>(vfs::make_dev(call.side == Side::slave ? 136 : 128, number_)));
    case tiocsti: return Errno::io;
    case tioccons:
    case tiocvhangup: return Errno::perm;
    default: return Errno::notty;
  }
}

Result<std::int32_t> Terminal::ioctl_master(const Ioctl& call) {
  switch (call.request) {
    case tiocgptn: return answer(call.memory, call.argument, number_);
    case tiocsptlck: {
      CLOCHE_ASSIGN(const std::int32_t lock, call.memory.read<std::int32_t>(call.argument));
      locked_ = lock != 0;
      return 0;
    }
    case tiocgptlck: return answer(call.memory, call.argument, std::int32_t{locked_ ? 1 : 0});
    case tiocpkt: {
      CLOCHE_ASSIGN(const std::int32_t packets, call.memory.read<std::int32_t>(call.argument));
      return packets == 0 ? Result<std::int32_t>(0) : Errno::inval;
    }
    case tiocgpkt: return answer(call.memory, call.argument, std::int32_t{0});
    case tiocsig: {
      const auto signo = static_cast<int>(call.argument);
      if (signo != sigint && signo != sigquit && signo != sigtstp) return Errno::inval;
      signal_foreground(signo);
      return 0;
    }
    case tiocgptpeer: {
      const std::uint32_t flags = call.argument & (o_accmode | o_nonblock);
      const FilePtr slave = kernel_.terminals().open_slave(shared_from_this(), flags);
      return call.task.process().fds.install(slave, call.argument & o_cloexec);
    }
    default: return Errno::notty;
  }
}

}  // namespace cloche::kernel
