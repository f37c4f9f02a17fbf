// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <mutex>
#include <thread>

#include "kernel/files/pipe.h"
#include "kernel/kernel.h"
#include "kernel/linux/linux_puppet_testing.h"
#include "kernel/process/task.h"

namespace cloche::kernel::lnx {
namespace {

constexpr std::uint32_t nr_eventfd2 = 19, nr_vmsplice = 75, nr_splice = 76, nr_tee = 77,
                        nr_signalfd4 = 74, nr_rt_sigprocmask = 135, nr_rt_sigpending = 136,
                        nr_kill = 129;
constexpr std::uint32_t f_setpipe_sz = 1031, f_getpipe_sz = 1032, fionread = 0x541B;

struct Ends {
  std::int32_t reading, writing;
};

Ends make_pipe(Guest& guest, std::uint32_t flags = 0) {
  const std::uint32_t address = guest.reserve(8);
  EXPECT_EQ(guest.call(nr::pipe2, address, flags), 0);
  return guest.get<Ends>(address);
}

// A pipe that two guests share.
std::pair<FilePtr, FilePtr> shared_pipe(TestKernel& machine) {
  const KernelLock lock(machine.kernel().mutex());
  return kernel::make_pipe(machine.kernel());
}

TEST(linux_pipe, carries_bytes_and_ends) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    const Ends pipe = make_pipe(guest);
    EXPECT_EQ(guest.write(pipe.writing, "hello"), 5);
    const std::uint32_t count = guest.reserve(4);
    EXPECT_EQ(guest.call(nr::ioctl, pipe.reading, fionread, count), 0);
    EXPECT_EQ(guest.get<std::int32_t>(count), 5);
    EXPECT_EQ(guest.read(pipe.reading, 3), "hel");
    EXPECT_EQ(guest.write(pipe.reading, "x"), -EBADF);
    EXPECT_EQ(guest.read(pipe.writing), "errno 9");
    guest.call(nr::close, pipe.writing);
    EXPECT_EQ(guest.read(pipe.reading), "lo");
    EXPECT_EQ(guest.read(pipe.reading), "");
    EXPECT_EQ(guest.call(nr::llseek, pipe.reading, 0, 0, count, 0), -ESPIPE);
  });
}

TEST(linux_pipe, bad_arguments) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    EXPECT_EQ(guest.call(nr::pipe2, Guest::memory_bytes - 4, 0), -EFAULT);
    EXPECT_EQ(guest.call(nr::pipe2, 0xfffffff8, 0), -EFAULT);
    EXPECT_EQ(guest.call(nr::pipe2, guest.reserve(8), 1), -EINVAL);
    const Ends pipe = make_pipe(guest, o_nonblock);
    EXPECT_EQ(guest.read(pipe.reading), "errno 11");
    EXPECT_EQ(guest.call(nr::read, pipe.reading, Guest::memory_bytes - 1, 2), -EFAULT);
    EXPECT_EQ(guest.call(nr::fcntl, pipe.reading, f_getpipe_sz), 65536);
    EXPECT_EQ(guest.call(nr::fcntl, pipe.reading, f_setpipe_sz, 10), 4096);
    EXPECT_EQ(guest.call(nr::fcntl, pipe.reading, f_setpipe_sz, 2 << 20), -EPERM);
  });
}

TEST(linux_pipe, a_write_without_readers_is_sigpipe) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    const Ends pipe = make_pipe(guest);
    guest.call(nr::close, pipe.reading);
    EXPECT_EQ(guest.call(nr_rt_sigprocmask, 0, guest.put(SignalSet::of(sigpipe).bits()), 0, 8), 0);
    EXPECT_EQ(guest.call(nr::write, pipe.writing, 0, 0), 0);
    const std::uint32_t pending = guest.put(std::uint64_t{0});
    EXPECT_EQ(guest.call(nr_rt_sigpending, pending, 8), 0);
    EXPECT_EQ(guest.get<std::uint64_t>(pending), 0U);
    EXPECT_EQ(guest.call(nr::write, pipe.writing, 1024, 1), -EPIPE);
    EXPECT_EQ(guest.call(nr_rt_sigpending, pending, 8), 0);
    EXPECT_EQ(guest.get<std::uint64_t>(pending), SignalSet::of(sigpipe).bits());
  });
}

TEST(linux_pipe, back_pressure_and_hand_over_between_two_guests) {
  TestKernel machine;
  auto [reading, writing] = shared_pipe(machine);
  constexpr std::uint32_t chunk = 10'000;
  constexpr std::uint32_t chunks = 200;
  SpawnRequest for_writer;
  for_writer.files = {{1, writing}};
  const ProcessPtr writer = start_guest(
      machine,
      [](Guest& guest) {
        const std::uint32_t buffer = guest.reserve(chunk);
        for (std::uint32_t i = 0; i < chunks; ++i) {
          (void)guest.memory().write(buffer, i);
          ASSERT_EQ(guest.call(nr::write, 1, buffer, chunk), static_cast<std::int32_t>(chunk));
        }
      },
      std::move(for_writer));
  for_writer = {};
  SpawnRequest for_reader;
  for_reader.files = {{0, reading}};
  std::uint64_t total = 0;
  const ProcessPtr reader = start_guest(
      machine,
      [&total](Guest& guest) {
        const std::uint32_t buffer = guest.reserve(7000);
        for (std::int32_t count = 1; count > 0;) {
          count = guest.call(nr::read, 0, buffer, 7000);
          ASSERT_GE(count, 0);
          total += static_cast<std::uint32_t>(count);
        }
      },
      std::move(for_reader));
  {
    const KernelLock lock(machine.kernel().mutex());
    for_reader = {};
    reading.reset();
    writing.reset();
  }
  EXPECT_EQ(machine.wait(writer).raw(), 0);
  EXPECT_EQ(machine.wait(reader).raw(), 0);
  EXPECT_EQ(total, std::uint64_t{chunk} * chunks);
}

TEST(linux_pipe, a_kill_ends_a_blocked_read) {
  TestKernel machine;
  const ProcessPtr guest = start_guest(machine, [](Guest& g) {
    const Ends pipe = make_pipe(g);
    g.read(pipe.reading);
  });
  // Killed any earlier, its calls before the read would fail.
  for (bool asleep = false; !asleep; std::this_thread::yield()) {
    const KernelLock lock(machine.kernel().mutex());
    asleep = guest->task != nullptr && guest->task->sleeping();
  }
  machine.kernel().kill_job(guest->job);
  EXPECT_EQ(guest->status->shell_status(), 137);
}

TEST(linux_pipe, eventfd_counts) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    const std::int32_t fd = guest.call(nr_eventfd2, 3, o_nonblock);
    const std::uint32_t value = guest.put(std::uint64_t{4});
    EXPECT_EQ(guest.call(nr::write, fd, value, 8), 8);
    EXPECT_EQ(guest.call(nr::read, fd, value, 8), 8);
    EXPECT_EQ(guest.get<std::uint64_t>(value), 7U);
    EXPECT_EQ(guest.call(nr::read, fd, value, 8), -EAGAIN);
    EXPECT_EQ(guest.call(nr::read, fd, value, 7), -EINVAL);
    const std::uint32_t most = guest.put(~std::uint64_t{0} - 1);
    EXPECT_EQ(guest.call(nr::write, fd, most, 8), 8);
    EXPECT_EQ(guest.call(nr::write, fd, most, 8), -EAGAIN);
    EXPECT_EQ(guest.call(nr::write, fd, guest.put(~std::uint64_t{0}), 8), -EINVAL);
    const std::int32_t semaphore = guest.call(nr_eventfd2, 2, 1 | o_nonblock);
    EXPECT_EQ(guest.call(nr::read, semaphore, value, 8), 8);
    EXPECT_EQ(guest.get<std::uint64_t>(value), 1U);
    EXPECT_EQ(guest.call(nr::read, semaphore, value, 8), 8);
    EXPECT_EQ(guest.call(nr::read, semaphore, value, 8), -EAGAIN);
    EXPECT_EQ(guest.call(nr_eventfd2, 0, 4), -EINVAL);
  });
}

TEST(linux_pipe, signalfd_takes_pending_signals) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    const std::uint32_t mask =
        guest.put(SignalSet::of(sigusr1).bits() | SignalSet::of(sigterm).bits());
    EXPECT_EQ(guest.call(nr_rt_sigprocmask, 0, mask, 0, 8), 0);
    const std::int32_t fd = guest.call(nr_signalfd4, -1, mask, 8, o_nonblock);
    ASSERT_GE(fd, 0);
    EXPECT_EQ(guest.read(fd, 128), "errno 11");
    const std::int32_t self = guest.call(nr::getpid);
    EXPECT_EQ(guest.call(nr_kill, self, sigterm), 0);
    EXPECT_EQ(guest.call(nr_kill, self, sigusr1), 0);
    const std::uint32_t info = guest.reserve(256);
    EXPECT_EQ(guest.call(nr::read, fd, info, 127), -EINVAL);
    EXPECT_EQ(guest.call(nr::read, fd, info, 256), 256);
    EXPECT_EQ(guest.get<std::int32_t>(info), sigusr1);
    EXPECT_EQ(guest.get<std::int32_t>(info + 12), self);
    EXPECT_EQ(guest.get<std::int32_t>(info + 128), sigterm);
    EXPECT_EQ(guest.call(nr_signalfd4, 99, mask, 8, 0), -EBADF);
    EXPECT_EQ(guest.call(nr_signalfd4, -1, mask, 4, 0), -EINVAL);
  });
}

TEST(linux_pipe, splice_moves_between_files_and_pipes) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    const Ends a = make_pipe(guest, o_nonblock);
    const Ends b = make_pipe(guest, o_nonblock);
    const std::int32_t file = guest.open("in", o_creat | o_rdwr);
    guest.write(file, "0123456789");
    const std::uint32_t offset = guest.put(std::uint64_t{2});
    EXPECT_EQ(guest.call(nr_splice, file, offset, a.writing, 0, 5, 0), 5);
    EXPECT_EQ(guest.get<std::uint64_t>(offset), 7U);
    EXPECT_EQ(guest.call(nr_tee, a.reading, b.writing, 100, 0), 5);
    EXPECT_EQ(guest.read(b.reading), "23456");
    EXPECT_EQ(guest.call(nr_splice, a.reading, 0, b.writing, 0, 3, 0), 3);
    EXPECT_EQ(guest.read(b.reading), "234");
    const std::int32_t out = guest.open("out", o_creat | o_rdwr);
    EXPECT_EQ(guest.call(nr_splice, a.reading, 0, out, guest.put(std::uint64_t{1}), 100, 0), 2);
    EXPECT_EQ(guest.content("out"), std::string("\0"
                                                "56",
                                                3));
    EXPECT_EQ(guest.call(nr_splice, a.reading, 0, out, 0, 100, 0), -EAGAIN);
    EXPECT_EQ(guest.call(nr_splice, a.reading, 0, a.writing, 0, 1, 0), -EINVAL);
    EXPECT_EQ(guest.call(nr_splice, file, 0, out, 0, 1, 0), -EINVAL);
    EXPECT_EQ(guest.call(nr_splice, a.reading, offset, out, 0, 1, 0), -ESPIPE);
    struct Iovec {
      std::uint32_t base, length;
    };
    const std::uint32_t iov = guest.put(Iovec{guest.put("spliced"), 7});
    EXPECT_EQ(guest.call(nr_vmsplice, a.writing, iov, 1, 0), 7);
    EXPECT_EQ(guest.read(a.reading), "spliced");
    EXPECT_EQ(guest.call(nr_vmsplice, file, iov, 1, 0), -EBADF);
  });
}

TEST(linux_pipe, what_splice_cannot_write_stays_in_the_pipe) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    const Ends pipe = make_pipe(guest, o_nonblock);
    guest.write(pipe.writing, "kept");
    const std::int32_t read_only = guest.open("file", o_creat | o_rdonly, 0600);
    EXPECT_EQ(guest.call(nr_splice, pipe.reading, 0, read_only, 0, 4, 0), -EBADF);
    const Ends closed = make_pipe(guest, o_nonblock);
    (void)guest.call(nr_rt_sigprocmask, 0, guest.put(SignalSet::of(sigpipe).bits()), 0, 8);
    guest.call(nr::close, closed.reading);
    EXPECT_EQ(guest.call(nr_splice, pipe.reading, 0, closed.writing, 0, 4, 0), -EPIPE);
    EXPECT_EQ(guest.read(pipe.reading), "kept");
  });
}

TEST(linux_pipe, fifos_meet) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    EXPECT_EQ(guest.call(nr::mknodat, at_cwd, guest.put("fifo"), 010666, 0), 0);
    EXPECT_EQ(guest.open("fifo", o_wronly | o_nonblock), -ENXIO);
    const std::int32_t reading = guest.open("fifo", o_rdonly | o_nonblock);
    EXPECT_EQ(guest.read(reading), "");
    const std::int32_t writing = guest.open("fifo", o_wronly | o_nonblock);
    EXPECT_EQ(guest.read(reading), "errno 11");
    EXPECT_EQ(guest.write(writing, "through"), 7);
    EXPECT_EQ(guest.read(reading), "through");
    guest.call(nr::close, writing);
    EXPECT_EQ(guest.read(reading), "");
    EXPECT_GE(guest.open("fifo", o_rdwr), 0);
  });
  const ProcessPtr writer = start_guest(machine, [](Guest& guest) {
    const std::int32_t fd = guest.open("fifo", o_wronly);
    EXPECT_EQ(guest.write(fd, "met"), 3);
  });
  run_guest(machine, [](Guest& guest) { EXPECT_EQ(guest.content("fifo"), "met"); });
  machine.wait(writer);
}

}  // namespace
}  // namespace cloche::kernel::lnx
