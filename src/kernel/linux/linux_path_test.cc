// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "kernel/linux/linux_puppet_testing.h"

namespace cloche::kernel::lnx {
namespace {

constexpr std::uint32_t at_removedir = 0x200;
constexpr std::uint32_t s_ififo = 0010000, s_ifchr = 0020000, s_ifdir = 0040000, s_ifsock = 0140000;

class Paths {
 public:
  explicit Paths(Guest& guest) : guest_(guest) {}
  std::int32_t mkdir(std::string_view path, std::uint32_t mode = 0777) {
    return guest_.call(nr::mkdirat, at_cwd, guest_.put(path), mode);
  }
  std::int32_t touch(std::string_view path) {
    const std::int32_t fd = guest_.open(path, o_creat | o_wronly);
    return fd < 0 ? fd : guest_.call(nr::close, fd);
  }
  std::int32_t unlink(std::string_view path) {
    return guest_.call(nr::unlinkat, at_cwd, guest_.put(path), 0);
  }
  std::int32_t rmdir(std::string_view path) {
    return guest_.call(nr::unlinkat, at_cwd, guest_.put(path), at_removedir);
  }
  std::int32_t rename(std::string_view from, std::string_view to, std::uint32_t flags = 0) {
    return guest_.call(nr::renameat2, at_cwd, guest_.put(from), at_cwd, guest_.put(to), flags);
  }
  std::int32_t symlink(std::string_view target, std::string_view path) {
    return guest_.call(nr::symlinkat, guest_.put(target), at_cwd, guest_.put(path));
  }
  std::int32_t link(std::string_view from, std::string_view to) {
    return guest_.call(nr::linkat, at_cwd, guest_.put(from), at_cwd, guest_.put(to), 0);
  }
  std::string cwd() {
    const std::uint32_t buffer = guest_.reserve(256);
    const std::int32_t length = guest_.call(nr::getcwd, buffer, 256);
    return length > 0 ? guest_.text(buffer, static_cast<std::uint32_t>(length) - 1)
                      : "errno " + std::to_string(-length);
  }

 private:
  Guest& guest_;
};

TEST(linux_path, making_and_removing) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    Paths at(guest);
    EXPECT_EQ(at.mkdir("d/"), 0);
    EXPECT_EQ(at.mkdir("d"), -EEXIST);
    EXPECT_EQ(at.mkdir("."), -EEXIST);
    EXPECT_EQ(at.mkdir("/"), -EEXIST);
    EXPECT_EQ(at.mkdir("x/y"), -ENOENT);
    EXPECT_EQ(at.mkdir("/etc/d"), -EACCES);
    EXPECT_EQ(at.mkdir(std::string(256, 'n')), -ENAMETOOLONG);
    EXPECT_EQ(at.mkdir(std::string(4096, 'n')), -ENAMETOOLONG);
    EXPECT_EQ(at.touch("d/f"), 0);
    EXPECT_EQ(at.mkdir("d/f/g"), -ENOTDIR);
    EXPECT_EQ(at.rmdir("d"), -ENOTEMPTY);
    EXPECT_EQ(at.unlink("d"), -EISDIR);
    EXPECT_EQ(at.unlink("d/f/"), -ENOTDIR);
    EXPECT_EQ(at.rmdir("d/f"), -ENOTDIR);
    EXPECT_EQ(at.unlink("d/f"), 0);
    EXPECT_EQ(at.unlink("d/f"), -ENOENT);
    EXPECT_EQ(at.rmdir("d/."), -EINVAL);
    EXPECT_EQ(at.rmdir("d/.."), -ENOTEMPTY);
    EXPECT_EQ(at.rmdir("/"), -EBUSY);
    EXPECT_EQ(at.rmdir("/proc"), -EBUSY);
    EXPECT_EQ(at.unlink("."), -EISDIR);
    EXPECT_EQ(at.rmdir("d"), 0);
    EXPECT_EQ(guest.call(nr::unlinkat, at_cwd, guest.put("d"), 1), -EINVAL);
    EXPECT_EQ(guest.call(nr::mkdirat, at_cwd, 0xffffffff, 0), -EFAULT);
  });
}

TEST(linux_path, the_umask_holds) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    EXPECT_EQ(guest.call(nr::umask, 027), 022);
    EXPECT_EQ(guest.call(nr::mkdirat, at_cwd, guest.put("d"), 07777), 0);
    EXPECT_GE(guest.open("f", o_creat | o_wronly, 0666), 0);
    EXPECT_EQ(guest.call(nr::umask, 07777), 027);
    EXPECT_EQ(guest.call(nr::umask, 0), 0777);
  });
  machine.with_files([](vfs::PathOperations& files) {
    EXPECT_EQ(files.stat("/workspace/d")->stat.mode, 01750U);
    EXPECT_EQ(files.stat("/workspace/f")->stat.mode, 0640U);
    EXPECT_EQ(files.stat("/workspace/f")->stat.uid, 1000U);
  });
}

TEST(linux_path, nodes) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    const auto mknod = [&](std::string_view path, std::uint32_t mode) {
      return guest.call(nr::mknodat, at_cwd, guest.put(path), mode, 0);
    };
    EXPECT_EQ(mknod("f", 0644), 0);
    EXPECT_EQ(mknod("p", s_ififo | 0600), 0);
    EXPECT_EQ(mknod("p", s_ififo | 0600), -EEXIST);
    EXPECT_EQ(mknod("s", s_ifsock | 0600), 0);
    EXPECT_EQ(mknod("c", s_ifchr | 0600), -EPERM);
    EXPECT_EQ(mknod("d", s_ifdir | 0600), -EPERM);
    EXPECT_EQ(mknod("x/", 0644), -ENOENT);
    EXPECT_EQ(guest.open("s"), -ENXIO);
    EXPECT_EQ(guest.open("p", o_wronly | o_nonblock), -ENXIO);
    const std::int32_t both = guest.open("p", o_rdwr);
    ASSERT_GE(both, 0);
    EXPECT_EQ(guest.write(both, "through"), 7);
    EXPECT_EQ(guest.read(guest.open("p", o_nonblock)), "through");
  });
}

TEST(linux_path, renaming) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    Paths at(guest);
    constexpr std::uint32_t no_replace = 1, exchange = 2;
    at.touch("a");
    at.touch("b");
    at.mkdir("d");
    at.mkdir("d/e");
    EXPECT_EQ(at.rename("a", "b", no_replace), -EEXIST);
    EXPECT_EQ(at.rename("a", "b"), 0);
    EXPECT_EQ(at.rename("a", "c"), -ENOENT);
    EXPECT_EQ(at.rename("b", "d"), -EISDIR);
    EXPECT_EQ(at.rename("d", "b"), -ENOTDIR);
    EXPECT_EQ(at.rename("d", "d/e/f"), -EINVAL);
    EXPECT_EQ(at.rename("d/e", "d"), -ENOTEMPTY);
    EXPECT_EQ(at.rename("b/", "c"), -ENOTDIR);
    EXPECT_EQ(at.rename("b", "c/"), -ENOTDIR);
    EXPECT_EQ(at.rename("d", "g/"), 0);
    EXPECT_EQ(at.rename("b", "g", exchange), 0);
    EXPECT_EQ(guest.open("b", o_directory) >= 0, true);
    EXPECT_EQ(at.rename("b", "missing", exchange), -ENOENT);
    EXPECT_EQ(at.rename("b", "c", 4), -EINVAL);
    EXPECT_EQ(at.rename(".", "c"), -EBUSY);
    EXPECT_EQ(at.rename("b", "/proc/x"), -EXDEV);
    EXPECT_EQ(at.rename("/proc", "c"), -EBUSY);
  });
}

TEST(linux_path, links) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    Paths at(guest);
    at.touch("f");
    at.mkdir("d");
    EXPECT_EQ(at.link("f", "g"), 0);
    EXPECT_EQ(at.link("f", "g"), -EEXIST);
    EXPECT_EQ(at.link("d", "h"), -EPERM);
    EXPECT_EQ(at.link("f", "/proc/x"), -EXDEV);
    EXPECT_EQ(at.symlink("", "s"), -ENOENT);
    EXPECT_EQ(at.symlink("loop", "loop"), 0);
    EXPECT_EQ(guest.open("loop"), -ELOOP);
    EXPECT_EQ(guest.link_target("loop"), "loop");
    EXPECT_EQ(guest.link_target("f"), "errno 22");
    EXPECT_EQ(guest.call(nr::readlinkat, at_cwd, guest.put("loop"), guest.reserve(8), 2), 2);
    EXPECT_EQ(guest.call(nr::readlinkat, at_cwd, guest.put("loop"), guest.reserve(8), 0), -EINVAL);
    EXPECT_EQ(guest.call(nr::readlinkat, at_cwd, guest.put("loop"), 0xfffffffe, 100), -EFAULT);
  });
}

TEST(linux_path, the_current_directory) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    Paths at(guest);
    EXPECT_EQ(at.cwd(), "/workspace");
    at.mkdir("d");
    at.symlink("d", "s");
    EXPECT_EQ(guest.call(nr::chdir, guest.put("s/../d/.")), 0);
    EXPECT_EQ(at.cwd(), "/workspace/d");
    EXPECT_EQ(guest.link_target("/proc/self/cwd"), "/workspace/d");
    EXPECT_EQ(guest.call(nr::getcwd, guest.reserve(16), 12), -ERANGE);
    EXPECT_EQ(guest.call(nr::chdir, guest.put("missing")), -ENOENT);
    EXPECT_EQ(guest.call(nr::fchdir, guest.open("/bin/guest")), -ENOTDIR);
    const std::int32_t dir = guest.open("/etc", o_path);
    EXPECT_EQ(guest.call(nr::fchdir, dir), 0);
    EXPECT_EQ(at.cwd(), "/etc");
    EXPECT_EQ(guest.call(nr::chdir, guest.put("/workspace/d")), 0);
    EXPECT_EQ(at.rmdir("/workspace/d"), 0);
    EXPECT_EQ(at.cwd(), "errno 2");
    EXPECT_EQ(guest.open("new", o_creat | o_wronly), -ENOENT);
  });
}

}  // namespace
}  // namespace cloche::kernel::lnx
