// SPDX-License-Identifier: Apache-2.0
// poll_oneoff.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "kernel/files/pipe.h"
#include "kernel/kernel.h"
#include "kernel/wasi/puppet_testing.h"

namespace cloche::kernel::wasi {
namespace {

using namespace std::chrono_literals;

Subscription clock(std::uint64_t userdata, std::chrono::nanoseconds timeout,
                   std::uint32_t id = clock_monotonic) {
  Subscription subscription;
  subscription.userdata = userdata;
  subscription.type = event_clock;
  subscription.id = id;
  subscription.timeout_ns = static_cast<std::uint64_t>(timeout.count());
  return subscription;
}

Subscription on_fd(std::uint64_t userdata, EventType type, std::int32_t fd) {
  Subscription subscription;
  subscription.userdata = userdata;
  subscription.type = type;
  subscription.id = static_cast<std::uint32_t>(fd);
  return subscription;
}

std::vector<Event> poll(Puppet& guest, const std::vector<Subscription>& subscriptions) {
  const auto count = static_cast<std::uint32_t>(subscriptions.size());
  const std::uint32_t in = guest.reserve(count * sizeof(Subscription));
  EXPECT_TRUE(guest.memory().write_array(in, std::span<const Subscription>(subscriptions)));
  const std::uint32_t out = guest.reserve(count * sizeof(Event));
  const std::uint32_t events_out = guest.reserve(4);
  const std::int32_t error = guest.call("poll_oneoff", in, out, count, events_out);
  EXPECT_EQ(error, ok);
  if (error != ok) return {};
  return guest.memory().read_array<Event>(out, guest.get<std::uint32_t>(events_out), count).value();
}

TEST(WasiPoll, RelativeClocksWait) {
  TestKernel machine;
  run_puppet(machine, {}, [](Puppet& guest) {
    const auto start = std::chrono::steady_clock::now();
    const std::vector<Event> events =
        poll(guest, {clock(7, 1h), clock(8, 20ms), clock(9, 20ms, clock_realtime)});
    EXPECT_GE(std::chrono::steady_clock::now() - start, 20ms);
    ASSERT_FALSE(events.empty());
    for (const Event& event : events) {
      EXPECT_NE(event.userdata, 7u);
      EXPECT_EQ(event.type, event_clock);
      EXPECT_EQ(event.error, ok);
    }
  });
}

TEST(WasiPoll, AbsoluteClocksWaitForTheirMoment) {
  TestKernel machine;
  run_puppet(machine, {}, [](Puppet& guest) {
    const std::uint32_t now = guest.reserve(8);
    for (const std::uint32_t id : {clock_realtime, clock_monotonic}) {
      ASSERT_EQ(guest.call("clock_time_get", id, std::uint64_t{0}, now), ok);
      const auto start = std::chrono::steady_clock::now();
      Subscription later =
          clock(1, std::chrono::nanoseconds(guest.get<std::uint64_t>(now)) + 20ms, id);
      later.flags = subclock_abstime;
      EXPECT_EQ(poll(guest, {later}).size(), 1u);
      EXPECT_GE(std::chrono::steady_clock::now() - start, 19ms);
      Subscription past = clock(1, 1ns, id);
      past.flags = subclock_abstime;
      EXPECT_EQ(poll(guest, {past}).size(), 1u);
    }
  });
}

TEST(WasiPoll, StrangeClocksAreEventsWithAnError) {
  TestKernel machine;
  run_puppet(machine, {}, [](Puppet& guest) {
    const std::vector<Event> events = poll(guest, {clock(1, 0ns, clock_process_cputime),
                                                   clock(2, 0ns, 77), on_fd(3, event_fd_read, 99)});
    ASSERT_EQ(events.size(), 3u);
    EXPECT_EQ(events[0].error, notsup);
    EXPECT_EQ(events[1].error, inval);
    EXPECT_EQ(events[2].error, badf);
    EXPECT_EQ(events[2].userdata, 3u);
  });
}

TEST(WasiPoll, FilesAreAlwaysReadyAndSayHowMuch) {
  TestKernel machine;
  machine.write_file("/tmp/file", "0123456789", 0666);
  run_puppet(machine, {}, [](Puppet& guest) {
    const std::int32_t file = guest.open("tmp/file");
    EXPECT_EQ(guest.read(file, 4), "0123");
    const std::vector<Event> events =
        poll(guest, {on_fd(1, event_fd_read, file), on_fd(2, event_fd_write, file), clock(3, 1h)});
    ASSERT_EQ(events.size(), 2u);
    EXPECT_EQ(events[0].type, event_fd_read);
    EXPECT_EQ(events[0].nbytes, 6u);
    EXPECT_EQ(events[1].type, event_fd_write);
  });
}

TEST(WasiPoll, WakesWhenAnotherProcessWrites) {
  TestKernel machine;
  const auto [reader, writer] = make_pipe(machine.kernel());
  SpawnRequest reading;
  reading.files = {{0, reader}};
  const ProcessPtr sleeper = start_puppet(machine, reading, [](Puppet& guest) {
    const std::vector<Event> events = poll(guest, {on_fd(5, event_fd_read, 0), clock(6, 1h)});
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].userdata, 5u);
    EXPECT_EQ(events[0].nbytes, 3u);
    EXPECT_EQ(guest.read(0, 8), "abc");
  });
  SpawnRequest writing;
  writing.files = {{1, writer}};
  run_puppet(machine, writing, [](Puppet& guest) {
    EXPECT_EQ(poll(guest, {on_fd(1, event_fd_write, 1)}).size(), 1u);
    EXPECT_EQ(guest.write(1, "abc"), 3);
  });
  EXPECT_EQ(machine.wait(sleeper).raw(), 0);
}

void wait_for_state(TestKernel& machine, const ProcessPtr& process, ProcessState state) {
  const auto deadline = std::chrono::steady_clock::now() + 10s;
  while (std::chrono::steady_clock::now() < deadline) {
    {
      const KernelLock lock(machine.kernel().mutex());
      if (process->state == state) return;
    }
    std::this_thread::yield();
  }
  ADD_FAILURE() << "the guest did not change its state";
}

TEST(WasiPoll, AStoppedSleeperGoesOn) {
  TestKernel machine;
  const auto [reader, writer] = make_pipe(machine.kernel());
  SpawnRequest reading;
  reading.files = {{0, reader}};
  const ProcessPtr sleeper = start_puppet(machine, reading, [](Puppet& guest) {
    const std::vector<Event> events = poll(guest, {on_fd(5, event_fd_read, 0), clock(6, 1h)});
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].userdata, 5u);
  });
  ASSERT_TRUE(sleeper);
  const auto post = [&](int signo) {
    const KernelLock lock(machine.kernel().mutex());
    EXPECT_TRUE(machine.kernel().post(*sleeper, SignalInfo{.signo = signo, .code = si_kernel}));
  };
  post(sigstop);
  wait_for_state(machine, sleeper, ProcessState::stopped);
  post(sigcont);
  wait_for_state(machine, sleeper, ProcessState::running);
  SpawnRequest writing;
  writing.files = {{1, writer}};
  run_puppet(machine, writing, [](Puppet& guest) { EXPECT_EQ(guest.write(1, "abc"), 3); });
  EXPECT_EQ(machine.wait(sleeper).raw(), 0);
}

TEST(WasiPoll, TellsHangups) {
  TestKernel machine;
  auto [first_reader, first_writer] = make_pipe(machine.kernel());
  auto [second_reader, second_writer] = make_pipe(machine.kernel());
  SpawnRequest request;
  request.files = {{0, std::move(first_reader)}, {1, std::move(second_writer)}};
  {
    const KernelLock lock(machine.kernel().mutex());
    first_writer.reset();
    second_reader.reset();
  }
  run_puppet(machine, request, [](Puppet& guest) {
    const std::vector<Event> events =
        poll(guest, {on_fd(1, event_fd_read, 0), on_fd(2, event_fd_write, 1), clock(3, 1h)});
    ASSERT_EQ(events.size(), 2u);
    EXPECT_EQ(events[0].flags, eventrw_hangup);
    EXPECT_EQ(events[0].error, ok);
    EXPECT_EQ(events[1].error, pipe);
  });
}

TEST(WasiPoll, ASleeperCanBeKilled) {
  TestKernel machine;
  const ProcessPtr process = start_puppet(machine, {}, [](Puppet& guest) {
    const std::uint32_t in = guest.put(clock(1, std::chrono::nanoseconds::max()));
    EXPECT_EQ(guest.call("poll_oneoff", in, guest.reserve(32), 1, guest.reserve(4)), unwound);
  });
  ASSERT_TRUE(process);
  machine.kernel().kill_job(process->job);
  EXPECT_EQ(machine.wait(process).term_signal(), sigkill);
}

}  // namespace
}  // namespace cloche::kernel::wasi
