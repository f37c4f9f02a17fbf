// SPDX-License-Identifier: Apache-2.0
// Hours and days of guests, in time that the test moves.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/clock_testing.h"
#include "kernel/kernel.h"
#include "kernel/linux/linux_puppet_testing.h"

namespace cloche::kernel::lnx {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t nr_ppoll = 414, nr_timerfd_create = 85, nr_nanosleep = 101,
                        nr_getitimer = 102, nr_setitimer = 103, nr_timer_create = 107,
                        nr_timer_getoverrun = 109, nr_rt_sigprocmask = 135, nr_rt_sigpending = 136,
                        nr_clock_gettime = 403, nr_clock_nanosleep = 407, nr_timer_settime = 409,
                        nr_timerfd_settime = 411, nr_rt_sigtimedwait = 421;

struct Timespec {
  std::int64_t s, ns;
};
struct Itimerspec {
  Timespec interval, value;
};
struct Itimerval {
  std::int32_t interval_s, interval_us, value_s, value_us;
};

constexpr std::int64_t hour_s = 3600, day_s = 24 * hour_s;

class VirtualTime : public ::testing::Test {
 protected:
  std::int64_t clock_s(Guest& guest, std::int32_t clock) {
    const std::uint32_t time = guest.put(Timespec{-1, -1});
    EXPECT_EQ(guest.call(nr_clock_gettime, clock, time), 0);
    return guest.get<Timespec>(time).s;
  }
  void block_signal(Guest& guest, int signo) {
    EXPECT_EQ(guest.call(nr_rt_sigprocmask, 0, guest.put(SignalSet::of(signo).bits()), 0, 8), 0);
  }
  // Time stands still while it waits: it comes, or the test hangs.
  void wait_signal(Guest& guest, int signo) {
    EXPECT_EQ(guest.call(nr_rt_sigtimedwait, guest.put(SignalSet::of(signo).bits()), 0,
                         guest.put(Timespec{1, 0}), 8),
              signo);
  }
  bool is_pending(Guest& guest, int signo) {
    const std::uint32_t set = guest.reserve(8);
    EXPECT_EQ(guest.call(nr_rt_sigpending, set, 8), 0);
    return (guest.get<std::uint64_t>(set) & SignalSet::of(signo).bits()) != 0;
  }
  // While another thread lets hours pass.
  void run_in_a_hurry(GuestScript script) {
    std::atomic<bool> ended = false;
    std::thread hours([&] {
      while (!ended) {
        clock_.advance(1h);
        std::this_thread::yield();
      }
    });
    run_guest(machine_, std::move(script));
    ended = true;
    hours.join();
  }

  ManualClock clock_;
  TimerThread timers_{clock_};
  TestKernel machine_{timers_};
};

TEST_F(VirtualTime, AnAlarmComesAfterAnHourAndNotBefore) {
  run_guest(machine_, [this](Guest& guest) {
    block_signal(guest, sigalrm);
    EXPECT_EQ(guest.call(nr_setitimer, 0, guest.put(Itimerval{0, 0, hour_s, 0}), 0), 0);
    clock_.advance(59min);
    const std::uint32_t left = guest.put(Itimerval{});
    EXPECT_EQ(guest.call(nr_getitimer, 0, left), 0);
    EXPECT_EQ(guest.get<Itimerval>(left).value_s, 60);
    EXPECT_FALSE(is_pending(guest, sigalrm));
    clock_.advance(1min);
    wait_signal(guest, sigalrm);
    EXPECT_EQ(guest.call(nr_getitimer, 0, left), 0);
    EXPECT_EQ(guest.get<Itimerval>(left).value_s, 0);
  });
}

TEST_F(VirtualTime, ATimerThatWasNotHeardCountsWhatItMissed) {
  run_guest(machine_, [this](Guest& guest) {
    block_signal(guest, sigalrm);
    const std::uint32_t id_at = guest.reserve(4);
    EXPECT_EQ(guest.call(nr_timer_create, 1, 0, id_at), 0);
    const auto id = guest.get<std::int32_t>(id_at);
    EXPECT_EQ(
        guest.call(nr_timer_settime, id, 0, guest.put(Itimerspec{{hour_s, 0}, {hour_s, 0}}), 0), 0);
    clock_.advance(10h);
    wait_signal(guest, sigalrm);
    EXPECT_EQ(guest.call(nr_timer_getoverrun, id), 9);
    clock_.advance(1h);
    wait_signal(guest, sigalrm);
    EXPECT_EQ(guest.call(nr_timer_getoverrun, id), 0);
  });
}

TEST_F(VirtualTime, ATimerFileTellsHowOften) {
  run_guest(machine_, [this](Guest& guest) {
    const std::int32_t fd = guest.call(nr_timerfd_create, 1, o_nonblock);
    EXPECT_EQ(
        guest.call(nr_timerfd_settime, fd, 0, guest.put(Itimerspec{{day_s, 0}, {day_s, 0}}), 0), 0);
    const std::uint32_t count = guest.reserve(8);
    clock_.advance(24h - 1ms);
    EXPECT_EQ(guest.call(nr::read, fd, count, 8), -EAGAIN);
    clock_.advance(6 * 24h + 1ms);
    EXPECT_EQ(guest.call(nr::read, fd, count, 8), 8);
    EXPECT_EQ(guest.get<std::uint64_t>(count), 7U);
  });
}

TEST_F(VirtualTime, ClocksSayWhatTheKernelsClockSays) {
  run_guest(machine_, [this](Guest& guest) {
    const std::int64_t wall = clock_s(guest, 0), since_boot = clock_s(guest, 1);
    EXPECT_EQ(
        wall,
        std::chrono::duration_cast<std::chrono::seconds>(clock_.wall().time_since_epoch()).count());
    EXPECT_EQ(since_boot, 0);
    clock_.advance(48h);
    EXPECT_EQ(clock_s(guest, 0), wall + 2 * day_s);
    EXPECT_EQ(clock_s(guest, 1), 2 * day_s);
  });
}

TEST_F(VirtualTime, DaysOfSleepPass) {
  run_in_a_hurry([this](Guest& guest) {
    const std::int64_t begin = clock_s(guest, 1);
    EXPECT_EQ(guest.call(nr_nanosleep, guest.put(Timespec{day_s, 0}), 0), 0);
    EXPECT_GE(clock_s(guest, 1), begin + day_s);
    const std::int64_t until = clock_s(guest, 0) + day_s;
    EXPECT_EQ(guest.call(nr_clock_nanosleep, 0, 1, guest.put(Timespec{until, 0}), 0), 0);
    EXPECT_GE(clock_s(guest, 0), until);
  });
}

TEST_F(VirtualTime, PollsAndReadsTimeOutAfterADay) {
  run_in_a_hurry([this](Guest& guest) {
    const std::int64_t begin = clock_s(guest, 1);
    EXPECT_EQ(guest.call(nr_ppoll, 0, 0, guest.put(Timespec{day_s, 0}), 0, 8), 0);
    EXPECT_GE(clock_s(guest, 1), begin + day_s);
    const std::int32_t fd = guest.call(nr_timerfd_create, 1, 0);
    EXPECT_EQ(guest.call(nr_timerfd_settime, fd, 0, guest.put(Itimerspec{{0, 0}, {day_s, 0}}), 0),
              0);
    EXPECT_EQ(guest.call(nr::read, fd, guest.reserve(8), 8), 8);
    EXPECT_GE(clock_s(guest, 1), begin + 2 * day_s);
  });
}

}  // namespace
}  // namespace cloche::kernel::lnx
