// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "kernel/files/pipe.h"
#include "kernel/kernel.h"
#include "kernel/linux/linux_puppet_testing.h"

namespace cloche::kernel::lnx {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t nr_epoll_create1 = 20, nr_epoll_ctl = 21, nr_epoll_pwait = 22,
                        nr_timerfd_create = 85, nr_timerfd_settime = 411, nr_pselect6 = 413,
                        nr_ppoll = 414;
constexpr std::uint32_t ctl_add = 1, ctl_del = 2, ctl_mod = 3;
constexpr std::uint32_t epollet = 1U << 31, epolloneshot = 1U << 30;

struct Ends {
  std::int32_t reading, writing;
};
struct Pollfd {
  std::int32_t fd;
  std::uint16_t events, revents;
};
struct Timespec {
  std::int64_t s, ns;
};
struct Event {
  std::uint32_t events, pad;
  std::uint64_t data;
};

Ends make_pipe(Guest& guest) {
  const std::uint32_t address = guest.reserve(8);
  EXPECT_EQ(guest.call(nr::pipe2, address, o_nonblock), 0);
  return guest.get<Ends>(address);
}

// One look at one descriptor; what was found.
int poll_once(Guest& guest, std::int32_t fd, PollEvents events) {
  const std::uint32_t entry = guest.put(Pollfd{fd, static_cast<std::uint16_t>(events), 0xffff});
  const std::int32_t count = guest.call(nr_ppoll, entry, 1, guest.put(Timespec{0, 0}), 0, 0);
  const int found = guest.get<Pollfd>(entry).revents;
  EXPECT_EQ(count, found == 0 ? 0 : 1);
  return found;
}

TEST(linux_poll, tells_what_pipes_are_ready_for) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    const Ends pipe = make_pipe(guest);
    EXPECT_EQ(poll_once(guest, pipe.reading, pollin), 0);
    EXPECT_EQ(poll_once(guest, pipe.writing, pollin | pollout), static_cast<int>(pollout));
    guest.write(pipe.writing, "x");
    EXPECT_EQ(poll_once(guest, pipe.reading, pollin | pollrdnorm),
              static_cast<int>(pollin | pollrdnorm));
    guest.call(nr::close, pipe.writing);
    EXPECT_EQ(poll_once(guest, pipe.reading, pollin), static_cast<int>(pollin | pollhup));
    const Ends broken = make_pipe(guest);
    guest.call(nr::close, broken.reading);
    EXPECT_EQ(poll_once(guest, broken.writing, 0), static_cast<int>(pollerr));
    EXPECT_EQ(poll_once(guest, 99, pollin), static_cast<int>(pollnval));
    EXPECT_EQ(poll_once(guest, -5, pollin), 0);
  });
}

TEST(linux_poll, waits_for_its_timeout) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    const Ends pipe = make_pipe(guest);
    const std::uint32_t entry = guest.put(Pollfd{pipe.reading, 1, 0});
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(guest.call(nr_ppoll, entry, 1, guest.put(Timespec{0, 5'000'000}), 0, 0), 0);
    EXPECT_GE(std::chrono::steady_clock::now() - start, 5ms);
    EXPECT_EQ(guest.call(nr_ppoll, entry, 1, guest.put(Timespec{0, 1'000'000'000}), 0, 0), -EINVAL);
    EXPECT_EQ(guest.call(nr_ppoll, entry, 1, guest.put(Timespec{-1, 0}), 0, 0), -EINVAL);
    EXPECT_EQ(guest.call(nr_ppoll, entry, 5000, 0, 0, 0), -EINVAL);
    EXPECT_EQ(guest.call(nr_ppoll, Guest::memory_bytes - 4, 1, 0, 0, 0), -EFAULT);
    EXPECT_EQ(guest.call(nr_ppoll, entry, 1, Guest::memory_bytes - 8, 0, 0), -EFAULT);
    EXPECT_EQ(guest.call(nr_ppoll, entry, 1, guest.put(Timespec{0, 0}), guest.reserve(8), 4),
              -EINVAL);
  });
}

TEST(linux_poll, another_guest_wakes_it) {
  TestKernel machine;
  std::pair<FilePtr, FilePtr> pipe;
  {
    const KernelLock lock(machine.kernel().mutex());
    pipe = kernel::make_pipe(machine.kernel());
  }
  SpawnRequest waits;
  waits.files = {{5, pipe.first}};
  const ProcessPtr waiter = start_guest(
      machine,
      [](Guest& guest) {
        const std::uint32_t entry = guest.put(Pollfd{5, static_cast<std::uint16_t>(pollin), 0});
        EXPECT_EQ(guest.call(nr_ppoll, entry, 1, 0, 0, 0), 1);
        EXPECT_EQ(guest.read(5), "wake");
      },
      waits);
  SpawnRequest writes;
  writes.files = {{5, pipe.second}};
  run_guest(machine, [](Guest& guest) { EXPECT_EQ(guest.write(5, "wake"), 4); }, writes);
  EXPECT_EQ(machine.wait(waiter).raw(), 0);
  const KernelLock lock(machine.kernel().mutex());
  pipe = {};
  waits = {};
  writes = {};
}

TEST(linux_poll, select_sets_its_bits) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    const Ends pipe = make_pipe(guest);
    guest.write(pipe.writing, "x");
    const auto bits = std::uint64_t{1} << pipe.reading | std::uint64_t{1} << pipe.writing;
    const std::uint32_t in = guest.put(bits);
    const std::uint32_t out = guest.put(bits);
    const std::uint32_t zero = guest.put(Timespec{0, 0});
    EXPECT_EQ(guest.call(nr_pselect6, pipe.writing + 1, in, out, 0, zero, 0), 2);
    EXPECT_EQ(guest.get<std::uint64_t>(in), std::uint64_t{1} << pipe.reading);
    EXPECT_EQ(guest.get<std::uint64_t>(out), std::uint64_t{1} << pipe.writing);
    EXPECT_EQ(guest.call(nr_pselect6, 64, guest.put(std::uint64_t{1} << 40), 0, 0, zero, 0),
              -EBADF);
    EXPECT_EQ(guest.call(nr_pselect6, -1, in, 0, 0, zero, 0), -EINVAL);
    EXPECT_EQ(guest.call(nr_pselect6, 64, Guest::memory_bytes - 4, 0, 0, zero, 0), -EFAULT);
    EXPECT_EQ(guest.call(nr_pselect6, 0, 0, 0, 0, zero, 0), 0);
  });
}

class Epoll {
 public:
  explicit Epoll(Guest& guest) : guest_(guest), fd_(guest.call(nr_epoll_create1, 0)) {}
  std::int32_t fd() const { return fd_; }
  std::int32_t control(std::uint32_t operation, std::int32_t fd, std::uint32_t events) {
    return guest_.call(nr_epoll_ctl, fd_, operation, fd,
                       guest_.put(Event{events, 0, std::uint64_t{7} << 32 | fd}));
  }
  // The events of the first entry that is ready, 0 when none is.
  std::uint32_t wait(std::int32_t timeout_ms = 0) {
    const std::uint32_t events = guest_.reserve(4 * sizeof(Event));
    const std::int32_t count = guest_.call(nr_epoll_pwait, fd_, events, 4, timeout_ms, 0, 8);
    EXPECT_GE(count, 0);
    return count > 0 ? guest_.get<Event>(events).events : 0;
  }

 private:
  Guest& guest_;
  std::int32_t fd_;
};

TEST(linux_epoll, level_edge_and_oneshot) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    const Ends pipe = make_pipe(guest);
    Epoll epoll(guest);
    EXPECT_EQ(epoll.control(ctl_add, pipe.reading, pollin), 0);
    EXPECT_EQ(epoll.wait(), 0U);
    guest.write(pipe.writing, "1");
    EXPECT_EQ(epoll.wait(), pollin);
    EXPECT_EQ(epoll.wait(), pollin) << "level: again and again";
    EXPECT_EQ(epoll.control(ctl_mod, pipe.reading, pollin | epollet), 0);
    EXPECT_EQ(epoll.wait(), pollin);
    EXPECT_EQ(epoll.wait(), 0U) << "edge: once";
    guest.write(pipe.writing, "2");
    EXPECT_EQ(epoll.wait(), pollin) << "more data is an edge, though it was not empty";
    EXPECT_EQ(epoll.control(ctl_mod, pipe.reading, pollin | epolloneshot), 0);
    EXPECT_EQ(epoll.wait(), pollin);
    guest.write(pipe.writing, "3");
    EXPECT_EQ(epoll.wait(), 0U);
    EXPECT_EQ(epoll.control(ctl_mod, pipe.reading, pollin | epolloneshot), 0);
    EXPECT_EQ(epoll.wait(), pollin);
    EXPECT_EQ(epoll.control(ctl_del, pipe.reading, 0), 0);
    EXPECT_EQ(epoll.wait(), 0U);
  });
}

TEST(linux_epoll, errors_of_control) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    const Ends pipe = make_pipe(guest);
    Epoll epoll(guest);
    EXPECT_EQ(epoll.control(ctl_mod, pipe.reading, pollin), -ENOENT);
    EXPECT_EQ(epoll.control(ctl_del, pipe.reading, pollin), -ENOENT);
    EXPECT_EQ(epoll.control(ctl_add, pipe.reading, pollin), 0);
    EXPECT_EQ(epoll.control(ctl_add, pipe.reading, pollin), -EEXIST);
    EXPECT_EQ(epoll.control(9, pipe.reading, pollin), -EINVAL);
    EXPECT_EQ(epoll.control(ctl_add, 99, pollin), -EBADF);
    EXPECT_EQ(epoll.control(ctl_add, epoll.fd(), pollin), -EINVAL);
    EXPECT_EQ(epoll.control(ctl_add, guest.open("file", o_creat | o_rdwr), pollin), -EPERM);
    EXPECT_EQ(guest.call(nr_epoll_ctl, epoll.fd(), ctl_add, pipe.writing, Guest::memory_bytes - 8),
              -EFAULT);
    EXPECT_EQ(guest.call(nr_epoll_pwait, epoll.fd(), 0, 0, 0, 0, 8), -EINVAL);
    EXPECT_EQ(guest.call(nr_epoll_pwait, pipe.reading, 1024, 1, 0, 0, 8), -EINVAL);
    EXPECT_EQ(guest.call(nr_epoll_create1, 1), -EINVAL);
  });
}

TEST(linux_epoll, an_entry_ends_with_its_file) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    const Ends pipe = make_pipe(guest);
    Epoll epoll(guest);
    EXPECT_EQ(epoll.control(ctl_add, pipe.reading, pollin), 0);
    guest.write(pipe.writing, "x");
    const std::int32_t copy = guest.call(nr::dup, pipe.reading);
    guest.call(nr::close, pipe.reading);
    EXPECT_EQ(epoll.wait(), pollin) << "the file is still open";
    guest.call(nr::close, copy);
    EXPECT_EQ(epoll.wait(), 0U);
    const Ends next = make_pipe(guest);
    EXPECT_EQ(next.reading, pipe.reading);
    EXPECT_EQ(epoll.control(ctl_add, next.reading, pollin), 0);
  });
}

TEST(linux_epoll, watches_other_epoll_files_without_loops) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    const Ends pipe = make_pipe(guest);
    Epoll inner(guest);
    Epoll outer(guest);
    EXPECT_EQ(inner.control(ctl_add, pipe.reading, pollin), 0);
    EXPECT_EQ(outer.control(ctl_add, inner.fd(), pollin), 0);
    EXPECT_EQ(inner.control(ctl_add, outer.fd(), pollin), -ELOOP);
    EXPECT_EQ(outer.wait(), 0U);
    guest.write(pipe.writing, "x");
    EXPECT_EQ(outer.wait(), pollin);
    EXPECT_EQ(poll_once(guest, outer.fd(), pollin), static_cast<int>(pollin));
    std::int32_t last = outer.fd();
    std::int32_t result = 0;
    for (int depth = 0; depth < 10 && result == 0; ++depth) {
      Epoll next(guest);
      result = next.control(ctl_add, last, pollin);
      last = next.fd();
    }
    EXPECT_EQ(result, -ELOOP);
  });
}

TEST(linux_epoll, a_chain_built_from_below_costs_a_bounded_look) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    std::array<std::int32_t, 60> chain{};
    for (std::int32_t& link : chain) link = guest.call(nr_epoll_create1, 0);
    // Each watches the next twice: a look at all paths would never end.
    for (std::size_t i = 0; i + 1 < chain.size(); ++i) {
      guest.reset();
      const std::int32_t copy = guest.call(nr::dup, chain[i + 1]);
      (void)guest.call(nr_epoll_ctl, chain[i], ctl_add, chain[i + 1], guest.put(Event{1, 0, 0}));
      (void)guest.call(nr_epoll_ctl, chain[i], ctl_add, copy, guest.put(Event{1, 0, 0}));
    }
    EXPECT_EQ(guest.call(nr_epoll_pwait, chain[0], guest.reserve(16), 1, 0, 0, 8), 0);
  });
}

// Two that wait for something else of a timer that expires all the time.
TEST(linux_poll, a_fast_timer_does_not_keep_the_kernel) {
  TestKernel machine;
  struct {
    Timespec interval, value;
  } const setting{{0, 1}, {0, 1}};
  const auto begin = [&](std::uint32_t events, bool by_epoll) {
    return start_guest(machine, [=](Guest& guest) {
      const std::int32_t timer = guest.call(nr_timerfd_create, 1, 0);
      EXPECT_EQ(guest.call(nr_timerfd_settime, timer, 0, guest.put(setting), 0), 0);
      if (by_epoll) {
        const std::int32_t epoll = guest.call(nr_epoll_create1, 0);
        EXPECT_EQ(guest.call(nr_epoll_ctl, epoll, ctl_add, timer, guest.put(Event{events, 0, 0})),
                  0);
        guest.call(nr_epoll_pwait, epoll, guest.reserve(16), 1, -1, 0, 8);
      } else {
        const std::uint32_t entry = guest.put(Pollfd{timer, static_cast<std::uint16_t>(events), 0});
        guest.call(nr_ppoll, entry, 1, 0, 0, 0);
      }
    });
  };
  for (const ProcessPtr& process : {begin(0, false), begin(pollout, false), begin(0, true)}) {
    std::this_thread::sleep_for(10ms);
    machine.kernel().signal_job(process->job, sigkill);
    EXPECT_EQ(machine.wait(process).term_signal(), sigkill);
  }
}

TEST(linux_epoll, timers_wake_it) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    const std::int32_t timer = guest.call(nr_timerfd_create, 1, o_nonblock);
    Epoll epoll(guest);
    EXPECT_EQ(epoll.control(ctl_add, timer, pollin | epollet), 0);
    EXPECT_EQ(epoll.wait(), 0U);
    struct {
      Timespec interval, value;
    } const setting{{0, 0}, {0, 2'000'000}};
    EXPECT_EQ(guest.call(nr_timerfd_settime, timer, 0, guest.put(setting), 0), 0);
    EXPECT_EQ(epoll.wait(-1), pollin);
    EXPECT_EQ(epoll.wait(), 0U);
    const std::uint32_t count = guest.reserve(8);
    EXPECT_EQ(guest.call(nr::read, timer, count, 8), 8);
    EXPECT_EQ(guest.get<std::uint64_t>(count), 1U);
    EXPECT_EQ(guest.call(nr::read, timer, count, 8), -EAGAIN);
  });
}

}  // namespace
}  // namespace cloche::kernel::lnx
