// SPDX-License-Identifier: Apache-2.0
#include "kernel/terminals/terminal.h"

#include <gtest/gtest.h>

#include <semaphore>
#include <thread>

#include "kernel/host/host_ports.h"
#include "kernel/linux/linux_puppet_testing.h"
#include "kernel/terminals/terminal_table.h"

namespace cloche::kernel {
namespace {

using lnx::Guest;
namespace nr = lnx::nr;
using namespace std::chrono_literals;

constexpr std::uint32_t tcgets = 0x5401, tcsets = 0x5402, tiocsctty = 0x540E, tiocgpgrp = 0x540F,
                        tiocspgrp = 0x5410, tiocgwinsz = 0x5413, fionread = 0x541B,
                        tiocgptn = 0x80045430, tiocsptlck = 0x40045431, tiocgptpeer = 0x5441,
                        nr_rt_sigprocmask = 135, nr_rt_sigtimedwait = 421;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// A guest at a terminal of the host.
class TerminalTest : public ::testing::Test {
 protected:
  TerminalTest() {
    Result<std::unique_ptr<HostTerminal>> made =
        HostTerminal::create(machine_.kernel(), {.rows = 30, .columns = 100});
    EXPECT_TRUE(made);
    host_ = *std::move(made);
  }

  ProcessPtr start(lnx::GuestScript script) {
    ProcessPtr process;
    {
      SpawnRequest request;
      request.terminal = host_->terminal();
      for (const int fd : {0, 1, 2}) request.files[fd] = host_->guest_end();
      process = lnx::start_guest(machine_, std::move(script), std::move(request));
    }
    host_->release_guest_end();
    return process;
  }
  void type(std::string_view text) {
    EXPECT_EQ(host_->write(bytes_of(text), deadline()).value(), text.size());
  }
  // The screen up to and with `end`.
  std::string screen_until(std::string_view end) {
    std::string shown;
    while (!shown.ends_with(end)) {
      std::array<std::byte, 100> buffer;
      const Result<std::size_t> count = host_->read(buffer, deadline());
      if (!count || *count == 0) return shown + "|ended";
      shown.append(reinterpret_cast<const char*>(buffer.data()), *count);
    }
    return shown;
  }
  static Deadline deadline() { return std::chrono::steady_clock::now() + 10s; }

  TestKernel machine_;
  std::unique_ptr<HostTerminal> host_;
};

TEST_F(TerminalTest, EchoesAndReadsLines) {
  const ProcessPtr guest = start([](Guest& g) {
    g.write(1, "> ");
    EXPECT_EQ(g.read(0), "hello\n");
    g.write(1, "bye\n");
  });
  EXPECT_EQ(screen_until("> "), "> ");
  type("helo\x7flo\r");
  EXPECT_EQ(screen_until("bye\r\n"), "helo\b \blo\r\nbye\r\n");
  machine_.wait(guest);
  std::array<std::byte, 10> rest;
  EXPECT_EQ(host_->read(rest, deadline()).value(), 0U) << "nobody has it open any more";
}

TEST_F(TerminalTest, ReadTimesOutAndIsCanceled) {
  std::array<std::byte, 10> buffer;
  EXPECT_EQ(host_->read(buffer, std::chrono::steady_clock::now()).error(), Errno::timedout);
  std::thread other([&] { host_->cancel(); });
  EXPECT_EQ(host_->read(buffer).error(), Errno::canceled);
  other.join();
}

TEST_F(TerminalTest, SettingsAndSize) {
  const ProcessPtr guest = start([](Guest& g) {
    const std::uint32_t size = g.reserve(8);
    EXPECT_EQ(g.call(nr::ioctl, 0, tiocgwinsz, size), 0);
    EXPECT_EQ(g.get<tty::WindowSize>(size), (tty::WindowSize{.rows = 30, .columns = 100}));
    const std::uint32_t settings = g.reserve(60);
    EXPECT_EQ(g.call(nr::ioctl, 0, tcgets, settings), 0);
    auto termios = g.get<tty::Termios>(settings);
    EXPECT_TRUE(termios.has_local(tty::icanon));
    EXPECT_EQ(g.get<std::uint32_t>(settings + 36), 0U) << "36 bytes, no more";
    termios.lflag &= ~(tty::icanon | tty::echo);
    termios.cc[tty::vmin] = 3;
    EXPECT_EQ(g.call(nr::ioctl, 0, tcsets, g.put(termios)), 0);
    g.write(1, "raw");
    EXPECT_EQ(g.read(0), "abc");
    termios.cc[tty::vmin] = 0;
    termios.cc[tty::vtime] = 1;
    EXPECT_EQ(g.call(nr::ioctl, 0, tcsets, g.put(termios)), 0);
    EXPECT_EQ(g.read(0), "") << "after a tenth of a second";
    EXPECT_EQ(g.call(nr::ioctl, 0, tcgets, Guest::memory_bytes - 8), -EFAULT);
    EXPECT_EQ(g.call(nr::ioctl, 0, 0x1234, 0), -ENOTTY);
    g.write(1, "done");
  });
  EXPECT_EQ(screen_until("raw"), "raw");
  type("a");
  type("bc");
  EXPECT_EQ(screen_until("done"), "done");
  machine_.wait(guest);
}

TEST_F(TerminalTest, ControlCIsForTheForegroundGroup) {
  const ProcessPtr guest = start([](Guest& g) {
    EXPECT_EQ(g.call(nr_rt_sigprocmask, 0, g.put(SignalSet::of(sigint).bits()), 0, 8), 0);
    const std::uint32_t group = g.reserve(4);
    EXPECT_EQ(g.call(nr::ioctl, 0, tiocgpgrp, group), 0);
    EXPECT_EQ(g.get<std::int32_t>(group), g.call(nr::getpid));
    EXPECT_EQ(g.call(nr::ioctl, 0, tiocspgrp, g.put(12345)), -ESRCH);
    g.write(1, "ready");
    EXPECT_EQ(g.call(nr_rt_sigtimedwait, g.put(SignalSet::of(sigint).bits()), 0, 0, 8), sigint);
    g.write(1, "caught");
  });
  EXPECT_EQ(screen_until("ready"), "ready");
  type("junk\x03");
  EXPECT_EQ(screen_until("caught"), "^Ccaught")
      << "the screen is flushed, then the character is shown";
  machine_.wait(guest);
}

TEST_F(TerminalTest, WhatIsShownBeforeASignalStays) {
  std::counting_semaphore<> written(0);
  std::counting_semaphore<> seen(1);
  const ProcessPtr guest = start([&written, &seen](Guest& g) {
    const std::uint32_t interrupt = g.put(SignalSet::of(sigint).bits());
    EXPECT_EQ(g.call(nr_rt_sigprocmask, 0, interrupt, 0, 8), 0);
    for (const std::string& text : {std::string("shown"), std::string(10'000, 'x')}) {
      EXPECT_TRUE(seen.try_acquire_for(10s));
      g.write(1, text);
      written.release();
      EXPECT_EQ(g.call(nr_rt_sigtimedwait, interrupt, 0, 0, 8), sigint);
      g.write(1, "end");
    }
  });
  EXPECT_TRUE(written.try_acquire_for(10s));
  type("\x03");
  EXPECT_EQ(screen_until("end"), "shown^Cend");
  seen.release();
  EXPECT_TRUE(written.try_acquire_for(10s));
  type("\x03");
  EXPECT_EQ(screen_until("end"), std::string(4096, 'x') + "^Cend")
      << "a flood ends where a master's buffer does";
  machine_.wait(guest);
}

TEST_F(TerminalTest, AResizeIsSignaledAndAHangUpEndsReads) {
  const ProcessPtr guest = start([](Guest& g) {
    const auto wanted = SignalSet::of(sigwinch).bits() | SignalSet::of(sighup).bits();
    EXPECT_EQ(g.call(nr_rt_sigprocmask, 0, g.put(wanted), 0, 8), 0);
    g.write(1, "ready");
    EXPECT_EQ(g.call(nr_rt_sigtimedwait, g.put(SignalSet::of(sigwinch).bits()), 0, 0, 8), sigwinch);
    g.write(1, "resized");
    EXPECT_EQ(g.read(0), "") << "hung up while it reads";
    EXPECT_EQ(g.write(1, "x"), -EIO);
    EXPECT_EQ(g.call(nr_rt_sigtimedwait, g.put(SignalSet::of(sighup).bits()), 0, 0, 8), sighup);
  });
  EXPECT_EQ(screen_until("ready"), "ready");
  host_->resize({.rows = 50, .columns = 132});
  EXPECT_EQ(screen_until("resized"), "resized");
  host_->hang_up();
  machine_.wait(guest);
}

TEST_F(TerminalTest, AFullScreenHoldsTheWriter) {
  constexpr std::size_t lines = 20'000;
  const ProcessPtr guest = start([](Guest& g) {
    const std::uint32_t line = g.put("0123456789\n");
    for (std::size_t i = 0; i < lines; ++i) ASSERT_EQ(g.call(nr::write, 1, line, 11), 11);
    g.write(1, "end");
  });
  EXPECT_EQ(screen_until("end").size(), lines * 12 + 3);
  machine_.wait(guest);
}

TEST(Pty, AGuestMakesItsOwn) {
  TestKernel machine;
  lnx::add_dev(machine);
  lnx::run_guest(machine, [](Guest& g) {
    EXPECT_EQ(g.open("/dev/tty", o_rdwr), -ENXIO);
    const std::int32_t master = g.open("/dev/ptmx", o_rdwr | o_noctty | o_nonblock);
    ASSERT_GE(master, 0);
    const std::uint32_t number = g.put(-1);
    EXPECT_EQ(g.call(nr::ioctl, master, tiocgptn, number), 0);
    EXPECT_EQ(g.get<std::int32_t>(number), 0);
    EXPECT_EQ(g.open("/dev/pts/0", o_rdwr), -EIO) << "locked";
    EXPECT_EQ(g.call(nr::ioctl, master, tiocsptlck, g.put(0)), 0);
    const std::int32_t slave = g.open("/dev/pts/0", o_rdwr | o_noctty);
    ASSERT_GE(slave, 0);
    EXPECT_EQ(g.open("/dev/pts/1", o_rdwr), -ENOENT);
    EXPECT_EQ(g.open("/dev/pts/00", o_rdwr), -ENOENT);
    EXPECT_EQ(g.write(master, "typed\n"), 6);
    EXPECT_EQ(g.read(master), "typed\r\n");
    const std::uint32_t count = g.reserve(4);
    EXPECT_EQ(g.call(nr::ioctl, slave, fionread, count), 0);
    EXPECT_EQ(g.get<std::int32_t>(count), 6);
    EXPECT_EQ(g.read(slave), "typed\n");
    const std::int32_t peer = g.call(nr::ioctl, master, tiocgptpeer, o_rdwr | o_noctty);
    EXPECT_EQ(g.write(peer, "shown"), 5);
    EXPECT_EQ(g.read(master), "shown");
    EXPECT_EQ(g.call(nr::ioctl, slave, tiocgpgrp, count), -ENOTTY);
    EXPECT_EQ(g.call(nr::ioctl, slave, tiocsctty, 0), 0);
    EXPECT_EQ(g.call(nr::ioctl, slave, tiocgpgrp, count), 0);
    EXPECT_GE(g.open("/dev/tty", o_rdwr), 0);
    EXPECT_EQ(g.link_target("/proc/self/fd/9"), "errno 2");
    EXPECT_EQ(g.call(nr::ioctl, slave, 0x541F + 1, g.put(1)), -ENOTTY);
    EXPECT_EQ(g.call(nr_rt_sigprocmask, 0, g.put(SignalSet::of(sighup).bits()), 0, 8), 0);
    g.call(nr::close, master);
    EXPECT_EQ(g.read(slave), "");
    EXPECT_EQ(g.write(slave, "x"), -EIO);
  });
}

TEST(Pty, TheMasterFlushesItsOwnInput) {
  TestKernel machine;
  lnx::add_dev(machine);
  lnx::run_guest(machine, [](Guest& g) {
    constexpr std::uint32_t tcflsh = 0x540B, input = 0, output = 1;
    const std::int32_t master = g.open("/dev/ptmx", o_rdwr | o_noctty | o_nonblock);
    EXPECT_EQ(g.call(nr::ioctl, master, tiocsptlck, g.put(0)), 0);
    const std::int32_t slave = g.open("/dev/pts/0", o_rdwr | o_noctty);
    EXPECT_EQ(g.write(slave, "shown"), 5);
    EXPECT_EQ(g.call(nr::ioctl, master, tcflsh, output), 0);
    EXPECT_EQ(g.read(master), "shown");
    EXPECT_EQ(g.write(slave, "unseen"), 6);
    EXPECT_EQ(g.write(master, "typed\n"), 6);
    EXPECT_EQ(g.call(nr::ioctl, master, tcflsh, input), 0);
    EXPECT_EQ(g.read(slave), "typed\n");
    EXPECT_EQ(g.write(slave, "new"), 3);
    EXPECT_EQ(g.read(master), "new");
  });
}

TEST(Pty, TheirNumberIsBounded) {
  TestKernel machine;
  lnx::add_dev(machine);
  lnx::run_guest(machine, [](Guest& g) {
    std::int32_t last = 0;
    std::uint32_t made = 0;
    for (; last >= 0 && made < 1000; ++made) {
      g.reset();
      last = g.open("/dev/ptmx", o_rdwr | o_noctty);
    }
    EXPECT_EQ(last, -ENOSPC);
    EXPECT_EQ(made, TerminalTable::max_terminals + 1);
  });
}

}  // namespace
}  // namespace cloche::kernel
