// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <future>

#include "kernel/kernel.h"
#include "kernel/linux/linux_puppet_testing.h"

namespace cloche::kernel::lnx {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t nr_timerfd_create = 85, nr_nanosleep = 101, nr_getitimer = 102,
                        nr_setitimer = 103, nr_timer_create = 107, nr_timer_getoverrun = 109,
                        nr_timer_delete = 111, nr_rt_sigprocmask = 135, nr_times = 153,
                        nr_rt_sigtimedwait = 421, nr_clock_gettime = 403, nr_clock_settime = 404,
                        nr_clock_getres = 406, nr_clock_nanosleep = 407, nr_timer_gettime = 408,
                        nr_timer_settime = 409, nr_timerfd_gettime = 410, nr_timerfd_settime = 411,
                        nr_futex = 422;

struct Timespec {
  std::int64_t s, ns;
};
struct Itimerspec {
  Timespec interval, value;
};
struct Itimerval {
  std::int32_t interval_s, interval_us, value_s, value_us;
};

std::int64_t clock_ns(Guest& guest, std::int32_t clock) {
  const std::uint32_t time = guest.put(Timespec{-1, -1});
  EXPECT_EQ(guest.call(nr_clock_gettime, clock, time), 0) << clock;
  return guest.get<Timespec>(time).s * 1'000'000'000 + guest.get<Timespec>(time).ns;
}

void block_signal(Guest& guest, int signo) {
  EXPECT_EQ(guest.call(nr_rt_sigprocmask, 0, guest.put(SignalSet::of(signo).bits()), 0, 8), 0);
}

// The value of the signal that comes.
std::int32_t wait_signal(Guest& guest, int signo) {
  const std::uint32_t info = guest.reserve(128);
  EXPECT_EQ(guest.call(nr_rt_sigtimedwait, guest.put(SignalSet::of(signo).bits()), info,
                       guest.put(Timespec{10, 0}), 8),
            signo);
  return guest.get<std::int32_t>(info + 20);
}

TEST(linux_time, clocks) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    const std::int64_t real = clock_ns(guest, 0);
    const std::int64_t host =
        std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
    EXPECT_NEAR(static_cast<double>(real), static_cast<double>(host), 5e9);
    for (const std::int32_t since_boot : {1, 4, 6, 7}) {
      EXPECT_LT(clock_ns(guest, since_boot), 60'000'000'000) << "the host's uptime does not show";
    }
    for (const std::int32_t cpu : {2, 3, (~guest.call(nr::getpid) << 3) | 2}) {
      const std::int64_t used = clock_ns(guest, cpu);
      EXPECT_GE(used, 0);
      EXPECT_LT(used, 60'000'000'000);
    }
    const std::int64_t before = clock_ns(guest, 1);
    EXPECT_LE(before, clock_ns(guest, 1));
    const std::uint32_t time = guest.reserve(16);
    for (const std::int32_t unknown : {10, 12, 99, (~4000 << 3) | 2, (~0 << 3) | 3}) {
      EXPECT_EQ(guest.call(nr_clock_gettime, unknown, time), -EINVAL) << unknown;
    }
    EXPECT_EQ(guest.call(nr_clock_gettime, 0, Guest::memory_bytes - 8), -EFAULT);
    EXPECT_EQ(guest.call(nr_clock_settime, 0, time), -EPERM);
    EXPECT_EQ(guest.call(nr_clock_settime, 1, time), -EINVAL);
    EXPECT_EQ(guest.call(nr_clock_getres, 5, time), 0);
    EXPECT_EQ(guest.get<Timespec>(time).ns, 4'000'000);
    EXPECT_EQ(guest.call(nr_clock_getres, 1, 0), 0);
    EXPECT_GE(guest.call(nr_times, guest.reserve(16)), 0);
  });
}

TEST(linux_time, sleeps) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(guest.call(nr_nanosleep, guest.put(Timespec{0, 1'000'000}), 0), 0);
    EXPECT_EQ(guest.call(nr_clock_nanosleep, 0, 0, guest.put(Timespec{0, 1'000'000}), 0), 0);
    const std::int64_t until = clock_ns(guest, 1) + 1'000'000;
    EXPECT_EQ(guest.call(nr_clock_nanosleep, 1, 1,
                         guest.put(Timespec{until / 1'000'000'000, until % 1'000'000'000}), 0),
              0);
    EXPECT_GE(std::chrono::steady_clock::now() - start, 3ms);
    EXPECT_EQ(guest.call(nr_clock_nanosleep, 0, 1, guest.put(Timespec{1, 0}), 0), 0) << "long past";
    EXPECT_EQ(guest.call(nr_clock_nanosleep, 1, 0, guest.put(Timespec{0, 1'000'000'000}), 0),
              -EINVAL);
    EXPECT_EQ(guest.call(nr_clock_nanosleep, 1, 0, guest.put(Timespec{-1, 0}), 0), -EINVAL);
    EXPECT_EQ(guest.call(nr_clock_nanosleep, 3, 0, guest.put(Timespec{0, 0}), 0), -EINVAL);
    EXPECT_EQ(guest.call(nr_nanosleep, Guest::memory_bytes, 0), -EFAULT);
  });
}

TEST(linux_time, a_futex_waits_for_so_long_or_until_a_clock_shows_that) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    constexpr std::uint32_t wait = 0, wake = 1, wait_bitset = 9, realtime = 0x100;
    const std::uint32_t word = guest.put(std::uint32_t{5});
    const auto futex = [&](std::uint32_t operation, std::uint32_t value, std::uint32_t time) {
      return guest.call(nr_futex, word, operation, value, time, 0, ~0U);
    };
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(futex(wait, 5, guest.put(Timespec{0, 1'000'000})), -ETIMEDOUT);
    const std::int64_t until = clock_ns(guest, 1) + 1'000'000;
    EXPECT_EQ(
        futex(wait_bitset, 5, guest.put(Timespec{until / 1'000'000'000, until % 1'000'000'000})),
        -ETIMEDOUT);
    EXPECT_GE(std::chrono::steady_clock::now() - start, 2ms);
    EXPECT_EQ(futex(wait_bitset | realtime, 5, guest.put(Timespec{1, 0})), -ETIMEDOUT)
        << "long past";
    // The upper half of the nanoseconds is padding for a guest of 32 bits.
    constexpr std::int64_t padding = std::int64_t{7} << 32;
    EXPECT_EQ(futex(wait, 5, guest.put(Timespec{0, padding})), -ETIMEDOUT);
    EXPECT_EQ(guest.call(nr_rt_sigtimedwait, guest.put(SignalSet::of(sigusr1).bits()), 0,
                         guest.put(Timespec{0, padding}), 8),
              -EAGAIN);
    EXPECT_EQ(futex(wait, 5, guest.put(Timespec{0, 1'000'000'000})), -EINVAL);
    EXPECT_EQ(futex(wait, 5, guest.put(Timespec{-1, 0})), -EINVAL);
    EXPECT_EQ(futex(wait, 5, Guest::memory_bytes), -EFAULT);
    EXPECT_EQ(futex(wait, 4, 0), -EAGAIN) << "another value";
    EXPECT_EQ(futex(wake, 5, 0), 0);
    EXPECT_EQ(futex(99, 5, 0), -ENOSYS);
  });
}

TEST(linux_time, a_kill_ends_the_longest_sleep) {
  TestKernel machine;
  const ProcessPtr guest = start_guest(
      machine, [](Guest& g) { g.call(nr_nanosleep, g.put(Timespec{0x7fffffffffffffff, 0}), 0); });
  machine.kernel().kill_job(guest->job);
  EXPECT_EQ(guest->status->shell_status(), 137);
}

TEST(linux_time, the_real_itimer_sends_sigalrm) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    block_signal(guest, sigalrm);
    EXPECT_EQ(guest.call(nr_setitimer, 0, guest.put(Itimerval{0, 0, 0, 1000}), 0), 0);
    wait_signal(guest, sigalrm);
    const std::uint32_t left = guest.put(Itimerval{9, 9, 9, 9});
    EXPECT_EQ(guest.call(nr_getitimer, 0, left), 0);
    EXPECT_EQ(guest.get<Itimerval>(left).value_s, 0);
    EXPECT_EQ(guest.get<Itimerval>(left).value_us, 0);
    EXPECT_EQ(guest.call(nr_setitimer, 0, guest.put(Itimerval{0, 0, 100, 0}), 0), 0);
    EXPECT_EQ(guest.call(nr_setitimer, 0, guest.put(Itimerval{}), left), 0);
    EXPECT_GE(guest.get<Itimerval>(left).value_s, 90);
    EXPECT_EQ(guest.call(nr_setitimer, 0, guest.put(Itimerval{0, 0, 0, 1'000'000}), 0), -EINVAL);
    EXPECT_EQ(guest.call(nr_setitimer, 3, guest.put(Itimerval{}), 0), -EINVAL);
    EXPECT_EQ(guest.call(nr_setitimer, 0, Guest::memory_bytes, 0), -EFAULT);
  });
}

TEST(linux_time, a_periodic_itimer_goes_on) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    block_signal(guest, sigalrm);
    EXPECT_EQ(guest.call(nr_setitimer, 0, guest.put(Itimerval{0, 1, 0, 1}), 0), 0);
    for (int i = 0; i < 5; ++i) wait_signal(guest, sigalrm);
  });
}

TEST(linux_time, posix_timers) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    struct Sigevent {
      std::uint32_t value;
      std::int32_t signo, notify, tid;
    };
    block_signal(guest, sigusr1);
    const std::uint32_t id_at = guest.reserve(4);
    EXPECT_EQ(guest.call(nr_timer_create, 1, guest.put(Sigevent{77, sigusr1, 0, 0}), id_at), 0);
    const std::int32_t id = guest.get<std::int32_t>(id_at);
    EXPECT_EQ(guest.call(nr_timer_settime, id, 0, guest.put(Itimerspec{{0, 0}, {0, 1'000'000}}), 0),
              0);
    EXPECT_EQ(wait_signal(guest, sigusr1), 77);
    EXPECT_EQ(guest.call(nr_timer_getoverrun, id), 0);
    const std::int64_t past = clock_ns(guest, 1) - 1;
    EXPECT_EQ(
        guest.call(nr_timer_settime, id, 1,
                   guest.put(Itimerspec{{0, 0}, {past / 1'000'000'000, past % 1'000'000'000}}), 0),
        0);
    wait_signal(guest, sigusr1);
    const std::uint32_t setting = guest.reserve(32);
    EXPECT_EQ(guest.call(nr_timer_settime, id, 0, guest.put(Itimerspec{{5, 0}, {50, 0}}), 0), 0);
    EXPECT_EQ(guest.call(nr_timer_gettime, id, setting), 0);
    EXPECT_EQ(guest.get<Itimerspec>(setting).interval.s, 5);
    EXPECT_GE(guest.get<Itimerspec>(setting).value.s, 40);
    EXPECT_EQ(guest.call(nr_timer_delete, id), 0);
    EXPECT_EQ(guest.call(nr_timer_gettime, id, setting), -EINVAL);
    EXPECT_EQ(guest.call(nr_timer_gettime, -1, setting), -EINVAL);
    EXPECT_EQ(guest.call(nr_timer_create, 1, guest.put(Sigevent{0, 99, 0, 0}), id_at), -EINVAL);
    EXPECT_EQ(guest.call(nr_timer_create, 55, 0, id_at), -EINVAL);
    std::int32_t result = 0;
    int made = 0;
    for (; result == 0 && made < 1000; ++made) result = guest.call(nr_timer_create, 1, 0, id_at);
    EXPECT_EQ(result, -EAGAIN);
    EXPECT_LT(made, 100);
  });
}

TEST(linux_time, timers_end_with_their_process) {
  TestKernel machine;
  for (int i = 0; i < 20; ++i) {
    run_guest(machine, [](Guest& guest) {
      block_signal(guest, sigalrm);
      EXPECT_EQ(guest.call(nr_setitimer, 0, guest.put(Itimerval{0, 1, 0, 1}), 0), 0);
    });
  }
}

TEST(linux_time, timerfd) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    const std::int32_t fd = guest.call(nr_timerfd_create, 1, 0);
    EXPECT_EQ(guest.call(nr_timerfd_settime, fd, 0,
                         guest.put(Itimerspec{{0, 1'000'000}, {0, 1'000'000}}), 0),
              0);
    const std::uint32_t count = guest.reserve(8);
    EXPECT_EQ(guest.call(nr::read, fd, count, 8), 8);
    EXPECT_GE(guest.get<std::uint64_t>(count), 1U);
    EXPECT_EQ(guest.call(nr::read, fd, count, 4), -EINVAL);
    EXPECT_EQ(guest.call(nr_timerfd_settime, fd, 0, guest.put(Itimerspec{{0, 0}, {100, 0}}), 0), 0);
    const std::uint32_t setting = guest.reserve(32);
    EXPECT_EQ(guest.call(nr_timerfd_gettime, fd, setting), 0);
    EXPECT_GE(guest.get<Itimerspec>(setting).value.s, 90);
    EXPECT_EQ(guest.call(nr_timerfd_create, 2, 0), -EINVAL);
    EXPECT_EQ(guest.call(nr_timerfd_create, 1, 1), -EINVAL);
    EXPECT_EQ(guest.call(nr_timerfd_settime, guest.open("f", o_creat), 0, setting, 0), -EINVAL);
    EXPECT_EQ(guest.call(nr_timerfd_settime, fd, 8, setting, 0), -EINVAL);
  });
}

// All kernels have one thread for them.
TEST(linux_time, timers_of_a_kernel_that_is_busy_keep_no_others_waiting) {
  TimerThread timers;
  TestKernel machine(timers);
  std::promise<void> armed;
  const ProcessPtr process = start_guest(machine, [&](Guest& guest) {
    constexpr std::int32_t sigev_none = 1, clock_monotonic = 1;
    const std::uint32_t id = guest.reserve(4);
    const std::uint32_t event = guest.put(std::array<std::int32_t, 16>{0, 0, sigev_none});
    EXPECT_EQ(guest.call(nr_timer_create, clock_monotonic, event, id), 0);
    const std::uint32_t often = guest.put(Itimerspec{{0, 1}, {0, 1}});
    EXPECT_EQ(guest.call(nr_timer_settime, guest.get<std::int32_t>(id), 0, often, 0), 0);
    armed.set_value();
    (void)guest.call(nr_nanosleep, guest.put(Timespec{1000, 0}), 0);
  });
  armed.get_future().wait();
  {
    const KernelLock busy(machine.kernel().mutex());
    std::promise<void> told;
    timers.add(timers.clock().steady() + 50ms, nullptr, [&] { told.set_value(); });
    EXPECT_EQ(told.get_future().wait_for(60s), std::future_status::ready);
  }
  machine.kernel().signal_job(process->job, sigkill);
  EXPECT_EQ(machine.wait(process).term_signal(), sigkill);
}

}  // namespace
}  // namespace cloche::kernel::lnx
