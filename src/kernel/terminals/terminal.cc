// SPDX-License-Identifier: Apache-2.0
#include "kernel/terminals/terminal.h"

#include <algorithm>
#include <utility>

#include "kernel/kernel.h"
#include "kernel/process/task.h"
#include "kernel/terminals/terminal_table.h"

namespace cloche::kernel {

Terminal::Terminal(Kernel& kernel, std::uint32_t number)
    : kernel_(kernel), number_(number), screen_(kernel.buffers(), screen_bytes) {}

Terminal::~Terminal() = default;

void Terminal::attach(const std::shared_ptr<TtySession>& session) { session_ = session; }

bool Terminal::controls(const Process& process) const {
  return process.session && process.session->terminal.get() == this;
}

void Terminal::signal_foreground(int signo) {
  const std::shared_ptr<TtySession> session = session_.lock();
  if (!session || session->foreground <= 0) return;
  kernel_.post_to_group(session->foreground, SignalInfo{.signo = signo, .code = si_kernel});
}

void Terminal::hang_up() {
  ++hangups_;
  discipline_.flush_input();
  discipline_.set_output_started();
  slave_changed.wake_all();
  master_changed.wake_all();
}

void Terminal::session_ended(Kernel& kernel) {
  const std::shared_ptr<Terminal> keep = shared_from_this();
  const std::shared_ptr<TtySession> session = std::exchange(session_, {}).lock();
  hang_up();
  if (!session || session->foreground <= 0) return;
  kernel.post_to_group(session->foreground, SignalInfo{.signo = sighup, .code = si_kernel});
  kernel.post_to_group(session->foreground, SignalInfo{.signo = sigcont, .code = si_kernel});
}

void Terminal::master_closed() {
  if (!std::exchange(master_open_, false)) return;
  const std::shared_ptr<Terminal> keep = shared_from_this();
  hang_up();
  const std::shared_ptr<TtySession> session = std::exchange(session_, {}).lock();
  if (!session) return;
  session->terminal.reset();
  if (const ProcessPtr leader = kernel_.find(session->id)) {
    (void)kernel_.post(*leader, SignalInfo{.signo = sighup, .code = si_kernel});
    (void)kernel_.post(*leader, SignalInfo{.signo = sigcont, .code = si_kernel});
  }
}

Result<void> Terminal::check_foreground(Task& task, int signo) {
  Process& process = task.process();
  // A vfork child cannot stop before its exec.
  if (&process != &task.owner()) return {};
  for (;;) {
    if (!controls(process)) return {};
    const Pid foreground = process.session->foreground;
    if (foreground == 0 || foreground == process.pgid) return {};
    if (process.signals.ignored(signo) || process.signals.mask.has(signo)) {
      if (signo == sigttin) return Errno::io;
      return {};
    }
    if (kernel_.group_is_orphaned(process.pgid)) return Errno::io;
    kernel_.post_to_group(process.pgid, SignalInfo{.signo = signo, .code = si_kernel});
    // The stop happens in here; afterwards the group may be the foreground one.
    if (task.attend()) return Errno::restart;
  }
}

Result<std::size_t> Terminal::read(Task& task, std::span<std::byte> to, const File& file) {
  const std::uint64_t hangups = hangups_;
  std::size_t done = 0;
  Deadline deadline;
  const auto after = [&](std::uint8_t tenths) {
    return task.kernel().clock().steady() + std::chrono::milliseconds(100) * tenths;
  };
  for (;;) {
    if (hangups_ != hangups) return done;
    CLOCHE_TRY(check_foreground(task, sigttin));
    const tty::Termios& termios = discipline_.termios();
    const bool canonical = termios.has_local(tty::icanon);
    const std::uint8_t minimum = termios.cc[tty::vmin];
    const std::uint8_t tenths = termios.cc[tty::vtime];
    if (discipline_.readable()) {
      const LineDiscipline::Taken taken = discipline_.take(to.subspan(done));
      done += taken.count;
      master_changed.wake_all();
      if (canonical || done == to.size() || done >= minimum) return done;
      if (tenths != 0) deadline = after(tenths);
    } else if (!canonical && minimum == 0) {
      if (tenths == 0) return done;
      if (!deadline) deadline = after(tenths);
    }
    if (file.nonblocking()) {
      if (done == 0) return Errno::again;
      return done;
    }
    const Result<void> slept = task.block({&slave_changed}, deadline);
    if (slept) continue;
    if (done != 0 || slept.error() == Errno::timedout) return done;
    return slept.error();
  }
}

Result<std::size_t> Terminal::write(Task& task, std::span<const std::byte> from, const File& file) {
  const std::uint64_t hangups = hangups_;
  std::size_t done = 0;
  std::string processed;
  while (done < from.size()) {
    if (hangups_ != hangups) return Errno::io;
    if (discipline_.termios().has_local(tty::tostop)) {
      if (const Result<void> allowed = check_foreground(task, sigttou); !allowed) {
        if (done != 0) return done;
        return allowed.error();
      }
    }
    constexpr std::size_t step_bytes = 4096;
    std::size_t used = 0;
    if (!discipline_.output_stopped()) {
      processed.clear();
      used =
          discipline_.process_output(from.subspan(done), screen_.make_room(step_bytes), processed);
      (void)screen_.write(std::as_bytes(std::span(processed)));
    }
    if (used != 0) {
      done += used;
      master_changed.wake_all();
      continue;
    }
    if (file.nonblocking()) {
      if (done == 0) return Errno::again;
      return done;
    }
    if (const Result<void> slept = task.block({&slave_changed}); !slept) {
      if (done != 0) return done;
      return slept.error();
    }
  }
  return done;
}

PollEvents Terminal::poll_slave() const {
  const tty::Termios& termios = discipline_.termios();
  const std::size_t minimum = termios.cc[tty::vtime] == 0 && termios.cc[tty::vmin] != 0
                                  ? termios.cc[tty::vmin]
                                  : std::size_t{1};
  PollEvents ready = 0;
  if (discipline_.readable(minimum)) ready |= pollin | pollrdnorm;
  if (!discipline_.output_stopped() && has_screen_room()) ready |= pollout | pollwrnorm;
  return ready;
}

void Terminal::slave_opened() {
  ++slaves_;
  slave_was_opened_ = true;
  master_changed.wake_all();
}

void Terminal::slave_closed() {
  if (--slaves_ == 0) master_changed.wake_all();
}

void Terminal::apply(const LineDiscipline::Effects& effects) {
  if (effects.flush_output) flush_screen();
  if (!effects.echo.empty()) (void)screen_.write(std::as_bytes(std::span(effects.echo)));
  if (effects.flush_output || !effects.echo.empty()) master_changed.wake_all();
  if (effects.input_changed || effects.flush_output) slave_changed.wake_all();
  for (const int signo : effects.signals) signal_foreground(signo);
}

Result<std::size_t> Terminal::type(std::span<const std::byte> typed) {
  if (typed.empty()) return std::size_t{0};
  if (slaves_ == 0 && slave_was_opened_) return Errno::io;
  const bool was_stopped = discipline_.output_stopped();
  LineDiscipline::Effects effects;
  const std::size_t taken = discipline_.receive(typed, effects);
  apply(effects);
  if (was_stopped && !discipline_.output_stopped()) slave_changed.wake_all();
  if (taken == 0) return Errno::again;
  return taken;
}

Result<std::size_t> Terminal::take_screen(std::span<std::byte> to) {
  if (to.empty()) return std::size_t{0};
  if (screen_.empty()) return slaves_ == 0 && slave_was_opened_ ? Errno::io : Errno::again;
  const bool had_room = has_screen_room();
  const std::size_t count = screen_.read(to);
  if (!had_room && has_screen_room()) slave_changed.wake_all();
  return count;
}

PollEvents Terminal::poll_master() const {
  PollEvents ready = 0;
  if (!screen_.empty()) ready |= pollin | pollrdnorm;
  if (slaves_ == 0 && slave_was_opened_) {
    ready |= pollhup;
  } else if (discipline_.accepts()) {
    ready |= pollout | pollwrnorm;
  }
  return ready;
}

void Terminal::set_window_size(const tty::WindowSize& size) {
  if (size == window_) return;
  window_ = size;
  signal_foreground(sigwinch);
}

}  // namespace cloche::kernel
