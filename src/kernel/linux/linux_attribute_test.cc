// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>

#include "kernel/linux/linux_puppet_testing.h"

namespace cloche::kernel::lnx {
namespace {

constexpr std::uint32_t at_symlink_nofollow = 0x100, at_empty_path = 0x1000;

// struct statx, as far as the tests look.
struct Statx {
  std::uint32_t mask, blksize;
  std::uint64_t attributes;
  std::uint32_t nlink, uid, gid;
  std::uint16_t mode, pad;
  std::uint64_t ino, size, blocks, attributes_mask;
  struct Time {
    std::int64_t s;
    std::uint32_t ns;
    std::int32_t pad;
  } atime, btime, ctime, mtime;
  std::uint32_t rdev_major, rdev_minor, dev_major, dev_minor;
  std::array<std::uint64_t, 14> rest;
};

Statx stat_of(Guest& guest, std::int32_t dirfd, std::string_view path, std::uint32_t flags) {
  const std::uint32_t out = guest.reserve(sizeof(Statx));
  EXPECT_EQ(guest.call(nr::statx, dirfd, guest.put(path), flags, 0x7ff, out), 0) << path;
  return guest.get<Statx>(out);
}

TEST(linux_attribute, statx) {
  TestKernel machine;
  machine.write_file("/workspace/f", "12345", 0640);
  run_guest(machine, [](Guest& guest) {
    const Statx file = stat_of(guest, at_cwd, "f", 0);
    EXPECT_EQ(file.mode, 0100640);
    EXPECT_EQ(file.size, 5U);
    EXPECT_EQ(file.nlink, 1U);
    EXPECT_EQ(file.uid, 0U);
    EXPECT_GT(file.mtime.s, 1'600'000'000);
    EXPECT_LT(file.mtime.ns, 1'000'000'000U);
    EXPECT_EQ(guest.call(nr::symlinkat, guest.put("f"), at_cwd, guest.put("l")), 0);
    EXPECT_EQ(stat_of(guest, at_cwd, "l", 0).ino, file.ino);
    EXPECT_EQ(stat_of(guest, at_cwd, "l", at_symlink_nofollow).mode, 0120777);
    const std::int32_t dir = guest.open(".");
    EXPECT_EQ(stat_of(guest, dir, "", at_empty_path).mode, 040755);
    const std::uint32_t ends = guest.reserve(8);
    EXPECT_EQ(guest.call(nr::pipe2, ends, 0), 0);
    EXPECT_EQ(stat_of(guest, guest.get<std::int32_t>(ends), "", at_empty_path).mode & 0170000,
              0010000);
    const std::uint32_t out = guest.reserve(sizeof(Statx));
    EXPECT_EQ(guest.call(nr::statx, dir, guest.put(""), 0, 0x7ff, out), -ENOENT);
    EXPECT_EQ(guest.call(nr::statx, at_cwd, guest.put("f"), 0x8, 0x7ff, out), -EINVAL);
    EXPECT_EQ(guest.call(nr::statx, at_cwd, guest.put("f"), 0, 0x80000000, out), -EINVAL);
    EXPECT_EQ(guest.call(nr::statx, at_cwd, guest.put("f"), 0, 0x7ff, Guest::memory_bytes - 255),
              -EFAULT);
    EXPECT_EQ(guest.call(nr::statx, at_cwd, guest.put("/etc/none"), 0, 0x7ff, out), -ENOENT);
  });
}

TEST(linux_attribute, permissions) {
  TestKernel machine;
  machine.write_file("/workspace/root", "", 0600);
  run_guest(machine, [](Guest& guest) {
    constexpr std::uint32_t f_ok = 0, x_ok = 1, w_ok = 2, r_ok = 4;
    const auto access = [&](std::string_view path, std::uint32_t mode) {
      return guest.call(nr::faccessat, at_cwd, guest.put(path), mode);
    };
    const std::int32_t fd = guest.open("f", o_creat | o_rdwr, 0644);
    EXPECT_EQ(access("f", r_ok | w_ok), 0);
    EXPECT_EQ(access("f", x_ok), -EACCES);
    EXPECT_EQ(access("f", 8), -EINVAL);
    EXPECT_EQ(access("root", f_ok), 0);
    EXPECT_EQ(access("root", r_ok), -EACCES);
    EXPECT_EQ(guest.call(nr::fchmodat, at_cwd, guest.put("f"), 0700), 0);
    EXPECT_EQ(access("f", x_ok), 0);
    EXPECT_EQ(guest.call(nr::fchmodat, at_cwd, guest.put("root"), 0777), -EPERM);
    EXPECT_EQ(guest.call(nr::fchmod, fd, 0), 0);
    EXPECT_EQ(guest.open("f"), -EACCES);
    EXPECT_EQ(guest.call(nr::fchownat, at_cwd, guest.put("f"), -1, -1, 0), 0);
    EXPECT_EQ(guest.call(nr::fchownat, at_cwd, guest.put("f"), 0, 0, 0), -EPERM);
    EXPECT_EQ(guest.call(nr::symlinkat, guest.put("f"), at_cwd, guest.put("l")), 0);
    EXPECT_EQ(guest.call(nr::fchmodat2, at_cwd, guest.put("l"), 0644, at_symlink_nofollow),
              -EOPNOTSUPP);
    EXPECT_EQ(guest.call(nr::fchmodat2, fd, guest.put(""), 0644, at_empty_path), 0);
    EXPECT_EQ(guest.call(nr::fchmod, guest.open("f", o_path), 0644), -EBADF);
    EXPECT_EQ(guest.call(nr::faccessat2, at_cwd, guest.put("missing"), f_ok, 0), -ENOENT);
    EXPECT_EQ(guest.call(nr::faccessat2, at_cwd, guest.put("f"), f_ok, 1), -EINVAL);
  });
}

TEST(linux_attribute, times) {
  TestKernel machine;
  machine.write_file("/workspace/root", "", 0644);
  run_guest(machine, [](Guest& guest) {
    struct Time {
      std::int64_t s;
      std::uint32_t ns, pad;
    };
    using Pair = std::array<Time, 2>;
    constexpr std::uint32_t now = 0x3fffffff, omit = 0x3ffffffe;
    const std::int32_t fd = guest.open("f", o_creat | o_rdwr);
    const auto touch = [&](const Pair& times) {
      return guest.call(nr::utimensat, at_cwd, guest.put("f"), guest.put(times), 0);
    };
    EXPECT_EQ(touch({{{1, 2, 0}, {-5, 999'999'999, 7}}}), 0);
    const Statx first = stat_of(guest, at_cwd, "f", 0);
    EXPECT_EQ(first.atime.s, 1);
    EXPECT_EQ(first.atime.ns, 2U);
    EXPECT_EQ(first.mtime.s, -5);
    EXPECT_EQ(first.mtime.ns, 999'999'999U);
    EXPECT_EQ(touch({{{0, omit, 0}, {0, now, 0}}}), 0);
    EXPECT_EQ(stat_of(guest, at_cwd, "f", 0).atime.s, 1);
    EXPECT_GT(stat_of(guest, at_cwd, "f", 0).mtime.s, 1'600'000'000);
    EXPECT_EQ(touch({{{0, 1'000'000'000, 0}, {0, 0, 0}}}), -EINVAL);
    EXPECT_EQ(guest.call(nr::utimensat, fd, 0, guest.put(Pair{{{9, 0, 0}, {9, 0, 0}}}), 0), 0);
    EXPECT_EQ(stat_of(guest, at_cwd, "f", 0).mtime.s, 9);
    EXPECT_EQ(guest.call(nr::utimensat, at_cwd, 0, 0, 0), -EFAULT);
    EXPECT_EQ(guest.call(nr::utimensat, at_cwd, guest.put("root"), 0, 0), -EACCES);
    EXPECT_EQ(guest.call(nr::utimensat, at_cwd, guest.put("root"), guest.put(Pair{}), 0), -EPERM);
  });
}

TEST(linux_attribute, extended) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    guest.open("f", o_creat | o_rdwr);
    const std::uint32_t file = guest.put("f"), name = guest.put("user.color"),
                        out = guest.reserve(64);
    EXPECT_EQ(guest.call(nr::getxattr, file, name, out, 64), -ENODATA);
    EXPECT_EQ(guest.call(nr::setxattr, file, name, guest.put("blue"), 4, 2), -ENODATA);
    EXPECT_EQ(guest.call(nr::setxattr, file, name, guest.put("blue"), 4, 1), 0);
    EXPECT_EQ(guest.call(nr::setxattr, file, name, guest.put("red"), 3, 1), -EEXIST);
    EXPECT_EQ(guest.call(nr::getxattr, file, name, out, 0), 4);
    EXPECT_EQ(guest.call(nr::getxattr, file, name, out, 3), -ERANGE);
    EXPECT_EQ(guest.call(nr::getxattr, file, name, out, 64), 4);
    EXPECT_EQ(guest.text(out, 4), "blue");
    EXPECT_EQ(guest.call(nr::listxattr, file, out, 64), 11);
    EXPECT_EQ(guest.text(out, 11), std::string("user.color\0", 11));
    EXPECT_EQ(guest.call(nr::setxattr, file, guest.put("security.x"), out, 1, 0), -EOPNOTSUPP);
    EXPECT_EQ(guest.call(nr::setxattr, file, name, out, 1 << 20, 0), -E2BIG);
    EXPECT_EQ(guest.call(nr::getxattr, file, guest.put(""), out, 64), -ERANGE);
    EXPECT_EQ(guest.call(nr::removexattr, file, name), 0);
    EXPECT_EQ(guest.call(nr::removexattr, file, name), -ENODATA);
  });
}

TEST(linux_attribute, file_systems) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    const std::uint32_t out = guest.reserve(88);
    EXPECT_EQ(guest.call(nr::statfs, guest.put("/workspace"), 88, out), 0);
    EXPECT_EQ(guest.get<std::uint32_t>(out), 0x01021994U);
    EXPECT_EQ(guest.call(nr::statfs, guest.put("/proc"), 84, out), 0);
    EXPECT_EQ(guest.get<std::uint32_t>(out), 0x9fa0U);
    EXPECT_EQ(guest.call(nr::statfs, guest.put("/proc"), 64, out), -EINVAL);
    EXPECT_EQ(guest.call(nr::fstatfs, 99, 88, out), -EBADF);
  });
}

// The names that getdents64 gives with a buffer of that size.
std::multiset<std::string> list(Guest& guest, std::int32_t fd, std::uint32_t buffer_bytes) {
  std::multiset<std::string> names;
  const std::uint32_t buffer = guest.reserve(buffer_bytes);
  for (;;) {
    const std::int32_t count = guest.call(nr::getdents64, fd, buffer, buffer_bytes);
    EXPECT_GE(count, 0);
    if (count <= 0) return names;
    for (std::uint32_t at = 0; at < static_cast<std::uint32_t>(count);) {
      const auto length = guest.get<std::uint16_t>(buffer + at + 16);
      const std::string record = guest.text(buffer + at + 19, length - 19U);
      names.insert(record.substr(0, record.find('\0')));
      EXPECT_EQ(length % 8, 0);
      at += length;
    }
  }
}

TEST(linux_attribute, directories_are_listed_once_each) {
  TestKernel machine;
  std::multiset<std::string> wanted{".", ".."};
  machine.with_files([&](vfs::PathOperations& files) {
    for (int i = 0; i < 100; ++i) {
      const std::string name = "file-" + std::to_string(i);
      wanted.insert(name);
      EXPECT_TRUE(files.write_file("/tmp/" + name, ""));
    }
  });
  run_guest(machine, [&](Guest& guest) {
    const std::int32_t fd = guest.open("/tmp");
    EXPECT_EQ(list(guest, fd, 512), wanted);
    EXPECT_EQ(guest.call(nr::getdents64, fd, guest.reserve(512), 512), 0);
    EXPECT_EQ(guest.call(nr::llseek, fd, 0, 0, guest.reserve(8), 0), 0);
    EXPECT_EQ(list(guest, fd, 4096), wanted);
    EXPECT_EQ(guest.call(nr::llseek, fd, 0, 0, guest.reserve(8), 0), 0);
    EXPECT_EQ(guest.call(nr::getdents64, fd, guest.reserve(8), 8), -EINVAL);
    EXPECT_EQ(guest.call(nr::getdents64, fd, 0xfffffff0, 64), -EFAULT);
    EXPECT_EQ(guest.call(nr::getdents64, guest.open("/tmp/file-1"), guest.reserve(64), 64),
              -ENOTDIR);
  });
}

}  // namespace
}  // namespace cloche::kernel::lnx
