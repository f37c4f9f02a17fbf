// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "kernel/kernel.h"
#include "kernel/linux/linux_puppet_testing.h"
#include "kernel/process/task.h"
#include "vfs/path_operations.h"

namespace cloche::kernel::lnx {
namespace {

constexpr std::uint32_t nr_mmap2 = 222;

struct Iovec {
  std::uint32_t base, length;
};

TEST(linux_transfer, lists_of_buffers) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    const std::int32_t fd = guest.open("f", o_creat | o_rdwr);
    const std::uint32_t list =
        guest.put(std::array<Iovec, 3>{{{guest.put("abc"), 3}, {0, 0}, {guest.put("defg"), 4}}});
    EXPECT_EQ(guest.call(nr::writev, fd, list, 3), 7);
    EXPECT_EQ(guest.content("f"), "abcdefg");
    const std::uint32_t one = guest.reserve(4), two = guest.reserve(8);
    const std::uint32_t into = guest.put(std::array<Iovec, 2>{{{one, 2}, {two, 8}}});
    EXPECT_EQ(guest.call(nr::preadv2, fd, into, 2, 1, 0, 0), 6);
    EXPECT_EQ(guest.text(one, 2) + guest.text(two, 4), "bcdefg");
    EXPECT_EQ(guest.call(nr::preadv2, fd, into, 2, -1, -1, 0), 0);
    EXPECT_EQ(guest.call(nr::preadv2, fd, into, 2, 0, 0, 0x80), -EOPNOTSUPP);
    EXPECT_EQ(guest.call(nr::preadv2, fd, into, 2, -2, -1, 0), -EINVAL);
    constexpr std::uint32_t rwf_append = 16;
    EXPECT_EQ(guest.call(nr::pwritev2, fd, list, 1, 0, 0, rwf_append), 3);
    EXPECT_EQ(guest.content("f"), "abcdefgabc");
    EXPECT_EQ(guest.call(nr::writev, fd, list, 1025), -EINVAL);
    EXPECT_EQ(guest.call(nr::writev, fd, list, -1), -EINVAL);
    EXPECT_EQ(guest.call(nr::writev, fd, 0xfffffff0, 4), -EFAULT);
    const std::uint32_t beyond =
        guest.put(std::array<Iovec, 2>{{{one, 1}, {Guest::memory_bytes - 2, 3}}});
    EXPECT_EQ(guest.call(nr::writev, fd, beyond, 2), -EFAULT);
    const std::uint32_t huge = guest.put(std::array<Iovec, 2>{{{one, 0x7fffffff}, {one, 1}}});
    EXPECT_EQ(guest.call(nr::readv, fd, huge, 2), -EFAULT);
    const std::uint32_t overflow = guest.put(std::array<Iovec, 2>{{{one, 4}, {one, 0xfffffff0}}});
    EXPECT_EQ(guest.call(nr::readv, fd, overflow, 2), -EINVAL);
  });
}

TEST(linux_transfer, positions) {
  TestKernel machine;
  machine.write_file("/workspace/f", "0123456789", 0666);
  run_guest(machine, [](Guest& guest) {
    const std::int32_t fd = guest.open("f", o_rdwr);
    ASSERT_GE(fd, 0);
    const std::uint32_t out = guest.reserve(8);
    const auto seek = [&](std::int64_t to, std::uint32_t whence) {
      const std::int32_t error =
          guest.call(nr::llseek, fd, static_cast<std::uint64_t>(to) >> 32, to, out, whence);
      return error < 0 ? std::int64_t{error} : guest.get<std::int64_t>(out);
    };
    EXPECT_EQ(seek(4, 0), 4);
    EXPECT_EQ(seek(2, 1), 6);
    EXPECT_EQ(seek(-1, 2), 9);
    EXPECT_EQ(seek(-100, 1), -EINVAL);
    EXPECT_EQ(seek(0, 9), -EINVAL);
    EXPECT_EQ(seek(std::numeric_limits<std::int64_t>::max(), 1), -EOVERFLOW);
    EXPECT_EQ(seek(1LL << 40, 0), 1LL << 40);
    EXPECT_EQ(guest.read(fd), "");
    EXPECT_EQ(seek(3, 3), 3);
    EXPECT_EQ(seek(3, 4), 10);
    EXPECT_EQ(seek(10, 3), -ENXIO);
    EXPECT_EQ(guest.call(nr::llseek, fd, 0, 0, 0xfffffffe, 0), -EFAULT);
    EXPECT_EQ(guest.call(nr::pread64, fd, out, 8, -1, -1), -EINVAL);
    EXPECT_EQ(guest.call(nr::pread64, fd, out, 4, 2, 0), 4);
    EXPECT_EQ(guest.text(out, 4), "2345");
  });
}

TEST(linux_transfer, from_file_to_file) {
  TestKernel machine;
  machine.write_file("/workspace/in", std::string(300'000, 'x') + "end");
  run_guest(machine, [](Guest& guest) {
    const std::int32_t in = guest.open("in");
    const std::int32_t out = guest.open("out", o_creat | o_rdwr);
    const std::uint32_t offset = guest.put(std::int64_t{299'999});
    EXPECT_EQ(guest.call(nr::sendfile, out, in, offset, 1'000'000), 4);
    EXPECT_EQ(guest.get<std::int64_t>(offset), 300'003);
    EXPECT_EQ(guest.content("out"), "xend");
    EXPECT_EQ(guest.call(nr::sendfile, out, in, 0, 300'003), 300'003);
    EXPECT_EQ(guest.read(in), "");
    EXPECT_EQ(guest.call(nr::sendfile, out, in, guest.put(std::int64_t{-1}), 1), -EINVAL);
    EXPECT_EQ(guest.call(nr::sendfile, in, in, 0, 1), -EBADF);
    const std::uint32_t from = guest.put(std::int64_t{1}), to = guest.put(std::int64_t{0});
    const std::int32_t copy = guest.open("copy", o_creat | o_rdwr);
    EXPECT_EQ(guest.call(nr::copy_file_range, out, from, copy, to, 3, 0), 3);
    EXPECT_EQ(guest.content("copy"), "end");
    EXPECT_EQ(guest.get<std::int64_t>(to), 3);
    EXPECT_EQ(guest.call(nr::copy_file_range, copy, guest.put(std::int64_t{0}), copy,
                         guest.put(std::int64_t{1}), 3, 0),
              -EINVAL);
    EXPECT_EQ(guest.call(nr::copy_file_range, copy, 0, copy, 0, 3, 1), -EINVAL);
    EXPECT_EQ(guest.call(nr::copy_file_range, guest.open("."), 0, copy, 0, 3, 0), -EISDIR);
  });
}

// Each is longer than a turn; the next one waits for its end.
TEST(linux_transfer, two_that_share_a_position_write_one_after_the_other) {
  constexpr std::uint32_t bytes = 24U << 20;
  TestKernel machine;
  FilePtr shared;
  run_guest(machine, [&](Guest& guest) {
    const std::int32_t fd = guest.open("/tmp/shared", o_creat | o_rdwr);
    const KernelLock lock(machine.kernel().mutex());
    shared = *guest.process().fds.get(fd);
  });
  const auto writer = [&] {
    SpawnRequest request;
    request.files = {{5, shared}};
    return start_guest(
        machine,
        [](Guest& guest) {
          constexpr std::uint32_t prot_read = 1, map_private_anonymous = 0x22;
          const std::int32_t from =
              guest.call(nr_mmap2, 0, bytes, prot_read, map_private_anonymous, -1, 0);
          EXPECT_EQ(guest.call(nr::write, 5, from, bytes), static_cast<std::int32_t>(bytes));
        },
        request);
  };
  const ProcessPtr one = writer(), two = writer();
  EXPECT_EQ(machine.wait(one).raw(), 0);
  EXPECT_EQ(machine.wait(two).raw(), 0);
  const KernelLock lock(machine.kernel().mutex());
  EXPECT_EQ(shared->stat()->size, std::uint64_t{2} * bytes);
  shared.reset();
}

// Each of two is longer than a turn, in so many buffers: to a description of its own that appends,
// or to one that both have.
enum class To : std::uint8_t { its_end, its_position };
void expect_one_piece(To where, std::uint32_t buffers) {
  constexpr std::uint32_t bytes = 6U << 20, most_buffers = 3;
  TestKernel machine;
  FilePtr of_both;
  machine.write_file("/tmp/a", std::string(bytes, 'a'), 0666);
  machine.write_file("/tmp/b", std::string(bytes, 'b'), 0666);
  machine.write_file("/tmp/log", "", 0666);
  if (where == To::its_position) {
    run_guest(machine, [&](Guest& guest) {
      const std::int32_t fd = guest.open("/tmp/log", o_wronly);
      const KernelLock lock(machine.kernel().mutex());
      of_both = *guest.process().fds.get(fd);
    });
  }
  const auto writer = [&](const char* from) {
    return start_guest(machine, [&, from](Guest& guest) {
      constexpr std::uint32_t prot_read = 1, map_private = 2;
      constexpr std::int32_t log = 7;
      const std::int32_t text =
          guest.call(nr_mmap2, 0, bytes, prot_read, map_private, guest.open(from), 0);
      if (of_both) {
        const KernelLock lock(machine.kernel().mutex());
        ASSERT_TRUE(guest.process().fds.install_at(log, of_both, 0));
      } else {
        EXPECT_EQ(guest.call(nr::dup3, guest.open("/tmp/log", o_wronly | o_append), log, 0), log);
      }
      const std::uint32_t piece = bytes / buffers;
      std::array<Iovec, most_buffers> pieces{};
      for (std::uint32_t i = 0; i < buffers; ++i) pieces[i] = {text + i * piece, piece};
      EXPECT_EQ(guest.call(nr::writev, log, guest.put(pieces), buffers),
                static_cast<std::int32_t>(bytes));
    });
  };
  const ProcessPtr one = writer("/tmp/a"), two = writer("/tmp/b");
  EXPECT_EQ(machine.wait(one).raw(), 0);
  EXPECT_EQ(machine.wait(two).raw(), 0);
  const KernelLock lock(machine.kernel().mutex());
  of_both.reset();
  vfs::Namespace& space = machine.files();
  const std::string log = *vfs::PathOperations(space, space.root(), vfs::root_credentials())
                               .read_file("/tmp/log", std::uint64_t{2} * bytes);
  ASSERT_EQ(log.size(), std::size_t{2} * bytes);
  EXPECT_EQ(log.find_first_not_of(log.front()), std::size_t{bytes});
  EXPECT_EQ(log.find_first_not_of(log.back(), bytes), std::string::npos);
}

TEST(linux_transfer, an_append_is_one_piece) {
  expect_one_piece(To::its_end, 1);
  expect_one_piece(To::its_end, 3);
}

TEST(linux_transfer, a_list_of_buffers_at_the_position_is_one_piece) {
  expect_one_piece(To::its_position, 3);
}

// Takes everything, and kills who writes to it.
class DeadlySink final : public File {
 public:
  DeadlySink() : File(o_wronly) {}
  Result<std::size_t> write(Task& task, std::span<const std::byte> from) override {
    EXPECT_TRUE(task.kernel().post(task.owner(), {.signo = sigkill}));
    bytes += from.size();
    return from.size();
  }
  Result<vfs::Stat> stat() override { return Errno::inval; }
  std::string description() const override { return "sink"; }

  std::uint64_t bytes = 0;
};

TEST(linux_transfer, a_kill_cuts_a_long_one_short) {
  constexpr std::uint32_t most = 0x7ffff000;
  TestKernel machine;
  const auto sink = std::make_shared<DeadlySink>();
  const WaitStatus status = run_guest(machine, [&](Guest& guest) {
    const std::int32_t in = guest.open("in", o_creat | o_rdwr);
    EXPECT_EQ(guest.call(nr::ftruncate, in, most, 0), 0);
    ASSERT_TRUE(guest.process().fds.install_at(7, sink, 0));
    EXPECT_EQ(guest.call(nr::sendfile, 7, in, 0, most), Guest::unwound);
  });
  EXPECT_EQ(status.raw(), WaitStatus::signaled(sigkill).raw());
  EXPECT_GT(sink->bytes, 0U);
  EXPECT_LT(sink->bytes, most);
}

TEST(linux_transfer, sizes) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    const std::int32_t fd = guest.open("f", o_creat | o_rdwr);
    EXPECT_EQ(guest.call(nr::ftruncate, fd, 6, 0), 0);
    EXPECT_EQ(guest.content("f"), std::string(6, '\0'));
    EXPECT_EQ(guest.call(nr::ftruncate, fd, 0, 0x80000000), -EINVAL);
    EXPECT_EQ(guest.call(nr::ftruncate, fd, 0xffffffff, 0x7fffffff), -EFBIG);
    EXPECT_EQ(guest.call(nr::ftruncate, guest.open("f"), 1, 0), -EINVAL);
    EXPECT_EQ(guest.call(nr::truncate, guest.put("f"), 2, 0), 0);
    EXPECT_EQ(guest.call(nr::truncate, guest.put("."), 2, 0), -EISDIR);
    EXPECT_EQ(guest.call(nr::fallocate, fd, 0, 0, 0, 10, 0), 0);
    EXPECT_EQ(guest.content("f"), std::string(10, '\0'));
    EXPECT_EQ(guest.call(nr::fallocate, fd, 0, 0, 0, 0, 0), -EINVAL);
    EXPECT_EQ(guest.call(nr::fallocate, fd, 0x40, 0, 0, 1, 0), -EOPNOTSUPP);
    EXPECT_EQ(guest.write(fd, "abcdef"), 6);
    constexpr std::uint32_t punch_keeping_size = 3;
    EXPECT_EQ(guest.call(nr::fallocate, fd, punch_keeping_size, 1, 0, 2, 0), 0);
    EXPECT_EQ(guest.content("f"), std::string("a\0\0def\0\0\0\0", 10));
    EXPECT_EQ(guest.call(nr::fsync, fd), 0);
  });
}

TEST(linux_transfer, the_limit_of_file_sizes_holds) {
  TestKernel machine;
  const WaitStatus status = run_guest(machine, [](Guest& guest) {
    constexpr std::uint32_t fsize = 1;
    EXPECT_EQ(
        guest.call(nr::prlimit64, 0, fsize, guest.put(std::array<std::uint64_t, 2>{10, 10}), 0), 0);
    const std::int32_t fd = guest.open("f", o_creat | o_rdwr);
    EXPECT_EQ(guest.write(fd, "0123456"), 7);
    EXPECT_EQ(guest.write(fd, "789abc"), 3);
    EXPECT_EQ(guest.content("f"), "0123456789");
    EXPECT_EQ(guest.write(fd, "x"), Guest::unwound);
  });
  EXPECT_TRUE(status.is_signaled());
  EXPECT_EQ(status.term_signal(), sigxfsz);
}

}  // namespace
}  // namespace cloche::kernel::lnx
