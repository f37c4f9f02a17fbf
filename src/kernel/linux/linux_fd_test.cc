// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "kernel/kernel.h"
#include "kernel/linux/linux_puppet_testing.h"
#include "kernel/process/task.h"

namespace cloche::kernel::lnx {
namespace {

constexpr std::uint32_t f_dupfd = 0, f_getfd = 1, f_setfd = 2, f_getfl = 3, f_setfl = 4,
                        f_getlk = 12, f_setlk = 13, f_setlkw = 14, f_ofd_setlk = 37,
                        f_add_seals = 1033, f_get_seals = 1034;
constexpr std::int16_t f_rdlck = 0, f_wrlck = 1, f_unlck = 2;
constexpr std::uint32_t at_empty_path = 0x1000, at_symlink_follow = 0x400;

struct Flock {
  std::int16_t type, whence;
  std::int32_t pad = 0;
  std::int64_t start = 0, length = 0;
  std::int32_t pid = 0, pad_end = 0;
};

TEST(linux_fd, open_makes_truncates_and_refuses) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    EXPECT_EQ(guest.open("a"), -ENOENT);
    EXPECT_EQ(guest.open(""), -ENOENT);
    const std::int32_t fd = guest.open("a", o_creat | o_wronly, 0400);
    ASSERT_GE(fd, 0);
    EXPECT_EQ(guest.write(fd, "hello"), 5);
    EXPECT_EQ(guest.read(fd), "errno 9");
    EXPECT_EQ(guest.open("a", o_wronly), -EACCES);
    EXPECT_EQ(guest.open("a", o_trunc), -EACCES);
    EXPECT_EQ(guest.content("a"), "hello");
    EXPECT_EQ(guest.open("a", o_creat | o_excl), -EEXIST);
    EXPECT_EQ(guest.open("a", o_directory), -ENOTDIR);
    EXPECT_EQ(guest.open("a/", o_rdonly), -ENOTDIR);
    EXPECT_EQ(guest.open("b/", o_creat | o_wronly), -EISDIR);
    EXPECT_EQ(guest.open(".", o_wronly), -EISDIR);
    EXPECT_EQ(guest.open(".", o_creat), -EISDIR);
    EXPECT_EQ(guest.open("/etc/x", o_creat | o_wronly), -EACCES);
    EXPECT_EQ(guest.open("a", 3), -EINVAL);
    const std::int32_t dir = guest.open(".", o_directory);
    EXPECT_EQ(guest.read(dir), "errno 21");
    EXPECT_EQ(guest.call(nr::openat, fd, guest.put("x"), 0), -ENOTDIR);
    EXPECT_EQ(guest.call(nr::openat, 99, guest.put("x"), 0), -EBADF);
    EXPECT_GE(guest.call(nr::openat, 99, guest.put("/workspace/a"), 0), 0);
  });
}

TEST(linux_fd, links_at_the_end_of_a_path) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    EXPECT_EQ(guest.call(nr::symlinkat, guest.put("target"), at_cwd, guest.put("link")), 0);
    EXPECT_EQ(guest.open("link"), -ENOENT);
    EXPECT_EQ(guest.open("link", o_creat | o_excl | o_wronly), -EEXIST);
    EXPECT_EQ(guest.open("link", o_creat | o_nofollow | o_wronly), -ELOOP);
    EXPECT_GE(guest.open("link", o_creat | o_wronly), 0);
    EXPECT_EQ(guest.content("target"), "");
    const std::int32_t fd = guest.open("link", o_path | o_nofollow);
    ASSERT_GE(fd, 0);
    EXPECT_EQ(guest.read(fd), "errno 9");
    const std::uint32_t buffer = guest.reserve(16);
    EXPECT_EQ(guest.call(nr::readlinkat, fd, guest.put(""), buffer, 16), 6);
  });
}

TEST(linux_fd, append_goes_to_the_end_wherever_the_position_is) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    const std::int32_t one = guest.open("log", o_creat | o_append | o_rdwr);
    const std::int32_t two = guest.open("log", o_wronly);
    EXPECT_EQ(guest.write(one, "aa"), 2);
    EXPECT_EQ(guest.write(two, "bbb"), 3);
    EXPECT_EQ(guest.write(one, "c"), 1);
    EXPECT_EQ(guest.call(nr::pwrite64, one, guest.put("d"), 1, 0, 0), 1);
    EXPECT_EQ(guest.content("log"), "bbbcd");
    EXPECT_EQ(guest.call(nr::fcntl, one, f_getfl) & 0xffff,
              static_cast<std::int32_t>(o_append | o_rdwr));
    EXPECT_EQ(guest.call(nr::fcntl, one, f_setfl, 0), 0);
    EXPECT_EQ(guest.call(nr::pwrite64, one, guest.put("X"), 1, 0, 0), 1);
    EXPECT_EQ(guest.content("log"), "Xbbcd");
  });
}

TEST(linux_fd, duplicates_share_the_position) {
  TestKernel machine;
  machine.write_file("/workspace/text", "abcdef");
  run_guest(machine, [](Guest& guest) {
    const std::int32_t fd = guest.open("text");
    const std::int32_t copy = guest.call(nr::dup, fd);
    EXPECT_EQ(guest.read(fd, 2), "ab");
    EXPECT_EQ(guest.read(copy, 2), "cd");
    EXPECT_EQ(guest.call(nr::dup3, fd, fd, 0), -EINVAL);
    EXPECT_EQ(guest.call(nr::dup3, fd, 20, o_nonblock), -EINVAL);
    EXPECT_EQ(guest.call(nr::dup3, fd, 5000, 0), -EBADF);
    EXPECT_EQ(guest.call(nr::dup3, fd, 20, o_cloexec), 20);
    EXPECT_EQ(guest.read(20, 2), "ef");
    EXPECT_EQ(guest.call(nr::fcntl, 20, f_getfd), 1);
    EXPECT_EQ(guest.call(nr::fcntl, fd, f_getfd), 0);
    EXPECT_EQ(guest.call(nr::fcntl, 20, f_setfd, 0), 0);
    EXPECT_EQ(guest.call(nr::fcntl, 20, f_getfd), 0);
    EXPECT_EQ(guest.call(nr::fcntl, fd, f_dupfd, 20), 21);
    EXPECT_EQ(guest.call(nr::fcntl, fd, f_dupfd, 1 << 20), -EINVAL);
    EXPECT_EQ(guest.call(nr::fcntl, fd, 99), -EINVAL);
    EXPECT_EQ(guest.call(nr::close_range, 20, 30, 0), 0);
    EXPECT_EQ(guest.call(nr::close, 20), -EBADF);
    EXPECT_EQ(guest.call(nr::close_range, 30, 20, 0), -EINVAL);
    EXPECT_EQ(guest.call(nr::close, -1), -EBADF);
  });
}

TEST(linux_fd, a_file_without_a_name_can_get_one) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    EXPECT_EQ(guest.open(".", o_tmpfile | o_rdonly), -EINVAL);
    const std::int32_t fd = guest.open(".", o_tmpfile | o_rdwr, 0600);
    ASSERT_GE(fd, 0);
    EXPECT_EQ(guest.write(fd, "kept"), 4);
    EXPECT_EQ(guest.call(nr::linkat, at_cwd, guest.put("/proc/self/fd/" + std::to_string(fd)),
                         at_cwd, guest.put("named"), at_symlink_follow),
              0);
    EXPECT_EQ(guest.content("named"), "kept");
    EXPECT_EQ(guest.call(nr::linkat, fd, guest.put(""), at_cwd, guest.put("again"), at_empty_path),
              0);
    EXPECT_EQ(guest.content("again"), "kept");
  });
}

TEST(linux_fd, openat2_holds_a_walk_below) {
  TestKernel machine;
  machine.with_files([](vfs::PathOperations& files) {
    EXPECT_TRUE(files.write_file("/workspace/dir/file", "x", 0644, vfs::Parents::make));
    EXPECT_TRUE(files.symlink("../../etc", "/workspace/dir/out"));
  });
  run_guest(machine, [](Guest& guest) {
    struct How {
      std::uint64_t flags, mode, resolve;
    };
    const std::int32_t dir = guest.open("dir", o_directory);
    const auto open = [&](std::string_view path, const How& how, std::uint32_t size = sizeof(How)) {
      return guest.call(nr::openat2, dir, guest.put(path), guest.put(how), size);
    };
    constexpr std::uint64_t beneath = 8, no_symlinks = 4, in_root = 16;
    EXPECT_GE(open("file", {0, 0, beneath}), 0);
    EXPECT_EQ(open("../dir/file", {0, 0, beneath}), -EXDEV);
    EXPECT_EQ(open("/etc", {0, 0, beneath}), -EXDEV);
    EXPECT_EQ(open("out", {0, 0, beneath}), -EXDEV);
    EXPECT_EQ(open("out", {0, 0, no_symlinks}), -ELOOP);
    EXPECT_GE(open("/file", {0, 0, in_root}), 0);
    EXPECT_EQ(open("file", {0, 0644, 0}), -EINVAL);
    EXPECT_EQ(open("file", {1ULL << 40, 0, 0}), -EINVAL);
    EXPECT_EQ(open("file", {0, 0, 1 << 20}), -EINVAL);
    EXPECT_EQ(open("file", {0, 0, 0}, 8), -EINVAL);
    EXPECT_EQ(open("file", {0, 0, 0}, 1 << 20), -E2BIG);
  });
}

TEST(linux_fd, memfd_holds_its_seals) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    constexpr std::uint32_t allow_sealing = 2, seal_write_flag = 8, seal_grow_flag = 4;
    const std::int32_t fd = guest.call(nr::memfd_create, guest.put("m"), allow_sealing);
    ASSERT_GE(fd, 0);
    EXPECT_EQ(guest.link_target("/proc/self/fd/" + std::to_string(fd)), "/memfd:m (deleted)");
    EXPECT_EQ(guest.write(fd, "abc"), 3);
    EXPECT_EQ(guest.call(nr::fcntl, fd, f_add_seals, seal_grow_flag), 0);
    EXPECT_EQ(guest.write(fd, "d"), -EPERM);
    EXPECT_EQ(guest.call(nr::pwrite64, fd, guest.put("d"), 1, 0, 0), 1);
    EXPECT_EQ(guest.call(nr::fcntl, fd, f_add_seals, seal_write_flag), 0);
    EXPECT_EQ(guest.call(nr::pwrite64, fd, guest.put("e"), 1, 0, 0), -EPERM);
    EXPECT_EQ(guest.call(nr::fcntl, fd, f_get_seals),
              static_cast<std::int32_t>(seal_write_flag | seal_grow_flag));
    const std::int32_t fixed = guest.call(nr::memfd_create, guest.put("f"), 0);
    EXPECT_EQ(guest.call(nr::fcntl, fixed, f_add_seals, seal_write_flag), -EPERM);
    EXPECT_EQ(guest.call(nr::memfd_create, guest.put("x"), 1 << 20), -EINVAL);
  });
}

TEST(linux_fd, record_locks_of_processes) {
  TestKernel machine;
  machine.write_file("/tmp/lock", "0123456789", 0666);
  run_guest(machine, [&](Guest& guest) {
    const std::int32_t fd = guest.open("/tmp/lock", o_rdwr);
    EXPECT_EQ(guest.call(nr::fcntl, fd, f_setlk, guest.put(Flock{f_wrlck, 0, 0, 2, 4})), 0);
    EXPECT_EQ(guest.call(nr::fcntl, fd, f_setlk, guest.put(Flock{9, 0})), -EINVAL);
    EXPECT_EQ(guest.call(nr::fcntl, fd, f_setlk, guest.put(Flock{f_wrlck, 0, 0, -1, 1})), -EINVAL);
    EXPECT_EQ(guest.call(nr::fcntl, fd, f_setlk, 0xfffffff0), -EFAULT);
    const std::int32_t reader = guest.open("/tmp/lock", o_rdonly);
    EXPECT_EQ(guest.call(nr::fcntl, reader, f_setlk, guest.put(Flock{f_wrlck, 0, 0, 8, 1})),
              -EBADF);
    const std::int32_t first_pid = guest.call(nr::getpid);
    const ProcessPtr other = start_guest(machine, [&](Guest& second) {
      const std::int32_t again = second.open("/tmp/lock", o_rdwr);
      const std::uint32_t asked = second.put(Flock{f_rdlck, 2, 0, -10, 0});
      EXPECT_EQ(second.call(nr::fcntl, again, f_getlk, asked), 0);
      const auto held = second.get<Flock>(asked);
      EXPECT_EQ(held.type, f_wrlck);
      EXPECT_EQ(held.start, 2);
      EXPECT_EQ(held.length, 4);
      EXPECT_EQ(held.pid, first_pid);
      EXPECT_EQ(second.call(nr::fcntl, again, f_setlk, second.put(Flock{f_rdlck, 0, 0, 5, 1})),
                -EAGAIN);
      EXPECT_EQ(second.call(nr::fcntl, again, f_ofd_setlk, second.put(Flock{f_wrlck, 0, 0, 0, 0})),
                -EAGAIN);
      EXPECT_EQ(second.call(nr::fcntl, again, f_setlk, second.put(Flock{f_rdlck, 0, 0, 6, 1})), 0);
    });
    machine.wait(other);
    // Closing any descriptor of the file gives the process's locks up.
    EXPECT_EQ(guest.call(nr::close, reader), 0);
    machine.wait(start_guest(machine, [](Guest& third) {
      const std::int32_t again = third.open("/tmp/lock", o_rdwr);
      EXPECT_EQ(third.call(nr::fcntl, again, f_setlk, third.put(Flock{f_wrlck, 0, 0, 0, 0})), 0);
    }));
    EXPECT_EQ(guest.call(nr::fcntl, fd, f_setlk, guest.put(Flock{f_unlck, 0, 0, 0, 0})), 0);
  });
}

TEST(linux_fd, a_lock_is_waited_for_and_a_deadlock_is_seen) {
  TestKernel machine;
  machine.write_file("/tmp/lock", "ab", 0666);
  const auto byte = [](std::int64_t at) { return Flock{f_wrlck, 0, 0, at, 1}; };
  run_guest(machine, [&](Guest& guest) {
    const std::int32_t fd = guest.open("/tmp/lock", o_rdwr);
    ASSERT_EQ(guest.call(nr::fcntl, fd, f_setlk, guest.put(byte(0))), 0);
    std::int32_t waited = -1;
    const ProcessPtr other = start_guest(machine, [&](Guest& second) {
      const std::int32_t again = second.open("/tmp/lock", o_rdwr);
      // The first process holds this one for a moment whenever it looks.
      EXPECT_EQ(second.call(nr::fcntl, again, f_setlkw, second.put(byte(1))), 0);
      waited = second.call(nr::fcntl, again, f_setlkw, second.put(byte(0)));
    });
    // The other process sleeps in F_SETLKW when this one would have to wait for it: whichever comes
    // second gets EDEADLK.
    std::int32_t result = 0;
    do {
      result = guest.call(nr::fcntl, fd, f_setlk, guest.put(byte(1)));
      guest.reset();
      if (result == 0) guest.call(nr::fcntl, fd, f_setlk, guest.put(Flock{f_unlck, 0, 0, 1, 1}));
    } while (result == 0);
    EXPECT_EQ(result, -EAGAIN);
    do {
      const KernelLock lock(machine.kernel().mutex());
      if (other->task != nullptr && other->task->sleeping()) break;
    } while (true);
    EXPECT_EQ(guest.call(nr::fcntl, fd, f_setlkw, guest.put(byte(1))), -EDEADLK);
    EXPECT_EQ(guest.call(nr::close, fd), 0);
    machine.wait(other);
    EXPECT_EQ(waited, 0);
  });
}

TEST(linux_fd, flock_belongs_to_the_open_file) {
  TestKernel machine;
  machine.write_file("/tmp/lock", "", 0666);
  run_guest(machine, [](Guest& guest) {
    constexpr std::uint32_t shared = 1, exclusive = 2, nonblocking = 4, unlock = 8;
    const std::int32_t one = guest.open("/tmp/lock"), two = guest.open("/tmp/lock");
    const std::int32_t copy = guest.call(nr::dup, one);
    EXPECT_EQ(guest.call(nr::flock, one, exclusive), 0);
    EXPECT_EQ(guest.call(nr::flock, copy, exclusive | nonblocking), 0);
    EXPECT_EQ(guest.call(nr::flock, two, shared | nonblocking), -EAGAIN);
    EXPECT_EQ(guest.call(nr::close, one), 0);
    EXPECT_EQ(guest.call(nr::flock, two, shared | nonblocking), -EAGAIN);
    EXPECT_EQ(guest.call(nr::close, copy), 0);
    EXPECT_EQ(guest.call(nr::flock, two, shared | nonblocking), 0);
    EXPECT_EQ(guest.call(nr::flock, two, unlock), 0);
    EXPECT_EQ(guest.call(nr::flock, two, 3), -EINVAL);
  });
}

}  // namespace
}  // namespace cloche::kernel::lnx
