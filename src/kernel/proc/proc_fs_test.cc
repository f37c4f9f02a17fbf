// SPDX-License-Identifier: Apache-2.0
#include "kernel/proc/proc_fs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernel/linux/linux_puppet_testing.h"

namespace cloche::kernel {
namespace {

using lnx::add_dev;
using lnx::at_cwd;
using lnx::Guest;
using lnx::run_guest;
using testing::HasSubstr;
using testing::StartsWith;
namespace nr = lnx::nr;

std::string fd_path(std::int32_t fd) { return "/proc/self/fd/" + std::to_string(fd); }

TEST(proc_fs, tells_of_the_process_that_asks) {
  TestKernel machine;
  run_guest(
      machine,
      [](Guest& guest) {
        const std::string pid = std::to_string(guest.call(nr::getpid));
        EXPECT_EQ(guest.link_target("/proc/self"), pid);
        EXPECT_EQ(guest.link_target("/proc/thread-self"), pid + "/task/" + pid);
        EXPECT_EQ(guest.link_target("/proc/self/exe"), "/bin/guest");
        EXPECT_EQ(guest.link_target("/proc/self/root"), "/");
        EXPECT_EQ(guest.content("/proc/self/cmdline"), std::string("guest\0-x\0", 9));
        EXPECT_EQ(guest.content("/proc/self/environ"), std::string("A=b\0", 4));
        EXPECT_EQ(guest.content("/proc/self/comm"), "guest\n");
        EXPECT_THAT(guest.content("/proc/self/stat"), StartsWith(pid + " (guest) R 1 " + pid));
        const std::string stat = guest.content("/proc/" + pid + "/stat");
        EXPECT_EQ(std::count(stat.begin(), stat.end(), ' '), 51);
        EXPECT_THAT(guest.content("/proc/thread-self/status"),
                    HasSubstr("Pid:\t" + pid + "\nPPid:\t1\n"));
        EXPECT_THAT(guest.content("/proc/self/limits"),
                    HasSubstr("Max open files            1024"));
        EXPECT_THAT(guest.content("/proc/self/io"), StartsWith("rchar: "));
        EXPECT_EQ(guest.content("/proc/self/cgroup"), "0::/\n");
        EXPECT_THAT(guest.content("/proc/mounts"), HasSubstr("proc /proc proc rw,"));
        EXPECT_THAT(guest.content("/proc/self/mountinfo"), HasSubstr(" - devpts devpts rw"));
        EXPECT_EQ(guest.content("/proc/1/stat"), "errno 2");
        EXPECT_EQ(guest.content("/proc/007/stat"), "errno 2");
        EXPECT_EQ(guest.content("/proc/self/nothing"), "errno 2");
        EXPECT_EQ(guest.open("/proc/self/comm", o_wronly), -EACCES);
        EXPECT_EQ(guest.open("/proc/new", o_creat | o_wronly), -EACCES);
      },
      SpawnRequest{.path = {},
                   .argv = {"guest", "-x"},
                   .environment = {"A=b"},
                   .cwd = "/",
                   .files = {},
                   .terminal = {}});
}

TEST(proc_fs, open_texts_have_a_budget) {
  TestKernel machine;
  run_guest(
      machine,
      [](Guest& guest) {
        const auto open_all = [&] {
          int opened = 0;
          std::int32_t result = 0;
          while (opened < 1000 && (result = guest.open("/proc/self/environ")) >= 0) ++opened;
          EXPECT_EQ(result, -ENOMEM);
          return opened;
        };
        const int opened = open_all();
        EXPECT_GT(opened, 10);
        EXPECT_EQ(guest.content("/proc/self/comm"), "guest\n");  // what is short costs nothing
        EXPECT_EQ(guest.call(nr::close_range, 0, -1, 0), 0);
        EXPECT_EQ(open_all(), opened);
      },
      SpawnRequest{.path = {},
                   .argv = {"guest"},
                   .environment = {"A=" + std::string(std::size_t{1} << 20, 'x')},
                   .cwd = "/",
                   .files = {},
                   .terminal = {}});
}

TEST(proc_fs, a_thread_is_the_process_in_a_directory_of_its_own) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    const std::string pid = std::to_string(guest.call(nr::getpid));
    EXPECT_EQ(guest.call(nr::chdir, guest.put("/proc/thread-self/fd/..")), 0);
    EXPECT_EQ(guest.link_target("/proc/self/cwd"), "/proc/" + pid + "/task/" + pid);
    EXPECT_EQ(guest.content("comm"), "guest\n");
    EXPECT_EQ(guest.open("task"), -ENOENT);
    EXPECT_EQ(guest.open("../1"), -ENOENT);
    EXPECT_EQ(guest.link_target("exe"), "/bin/guest");
  });
}

TEST(proc_fs, shows_the_sandbox_and_nothing_of_the_host) {
  KernelOptions options;
  options.limits.memory_bytes = 64 << 20;
  options.host_name = "bell";
  TestKernel machine(std::move(options));
  run_guest(machine, [](Guest& guest) {
    EXPECT_THAT(guest.content("/proc/meminfo"), StartsWith("MemTotal:          65536 kB\n"));
    EXPECT_EQ(guest.content("/proc/sys/kernel/hostname"), "bell\n");
    EXPECT_EQ(guest.content("/proc/sys/kernel/ostype"), "Linux\n");
    const std::string uuid = guest.content("/proc/sys/kernel/random/uuid");
    EXPECT_EQ(uuid.size(), 37U);
    EXPECT_NE(uuid, guest.content("/proc/sys/kernel/random/uuid"));
    EXPECT_EQ(guest.content("/proc/sys/kernel/random/boot_id"),
              guest.content("/proc/sys/kernel/random/boot_id"));
    const std::string cpuinfo = guest.content("/proc/cpuinfo");
    EXPECT_EQ(cpuinfo.find("processor"), cpuinfo.rfind("processor"));
    for (const char* name : {"uptime", "loadavg", "stat", "version", "filesystems", "cmdline",
                             "swaps", "devices", "sys/kernel/pid_max", "sys/vm/overcommit_memory",
                             "net/dev", "net/tcp", "net/tcp6", "net/udp", "net/udp6"}) {
      const std::string text = guest.content(std::string("/proc/") + name);
      EXPECT_FALSE(text.empty() || text.starts_with("errno")) << name << ": " << text;
    }
  });
}

TEST(proc_fs, descriptors_lead_to_their_files) {
  TestKernel machine;
  machine.write_file("/workspace/f", "text");
  run_guest(machine, [](Guest& guest) {
    const std::int32_t fd = guest.open("f");
    EXPECT_EQ(guest.read(fd, 2), "te");
    EXPECT_EQ(guest.link_target(fd_path(fd)), "/workspace/f");
    EXPECT_THAT(guest.content("/proc/self/fdinfo/" + std::to_string(fd)),
                StartsWith("pos:\t2\nflags:\t0"));
    EXPECT_EQ(guest.content(fd_path(fd)), "text");  // opened anew: a position of its own
    EXPECT_EQ(guest.content(fd_path(99)), "errno 2");
    const std::int32_t dir = guest.open("/workspace");
    EXPECT_EQ(guest.content(fd_path(dir) + "/f"), "text");

    const std::uint32_t ends = guest.reserve(8);
    ASSERT_EQ(guest.call(nr::pipe2, ends, 0), 0);
    const auto from = guest.get<std::int32_t>(ends), to = guest.get<std::int32_t>(ends + 4);
    EXPECT_THAT(guest.link_target(fd_path(from)), StartsWith("pipe:["));
    const std::int32_t again = guest.open(fd_path(from), o_wronly);
    ASSERT_GE(again, 0);
    EXPECT_EQ(guest.write(again, "through"), 7);
    EXPECT_EQ(guest.read(guest.open(fd_path(from))), "through");
    EXPECT_EQ(guest.call(nr::close, to), 0);
    EXPECT_EQ(guest.call(nr::close, again), 0);
    EXPECT_EQ(guest.read(from), "");
  });
}

TEST(proc_fs, what_the_host_gave_is_opened_by_name) {
  TestKernel machine;
  add_dev(machine);
  const auto out = std::make_shared<OutputFile>();
  SpawnRequest request;
  request.files = {{1, out}};
  run_guest(
      machine,
      [](Guest& guest) {
        const std::int32_t fd = guest.open("/dev/stdout", o_wronly | o_creat | o_trunc);
        ASSERT_GE(fd, 0);
        EXPECT_EQ(guest.write(fd, "hello"), 5);
        EXPECT_EQ(guest.open("/dev/fd/7", o_wronly), -ENOENT);
      },
      request);
  EXPECT_EQ(out->text(), "hello");
}

TEST(devices, give_and_take) {
  TestKernel machine;
  add_dev(machine);
  run_guest(machine, [](Guest& guest) {
    const std::int32_t null = guest.open("/dev/null", o_rdwr | o_creat | o_trunc | o_append);
    EXPECT_EQ(guest.read(null), "");
    EXPECT_EQ(guest.write(null, "gone"), 4);
    EXPECT_EQ(guest.read(guest.open("/dev/zero"), 3), std::string(3, '\0'));
    EXPECT_EQ(guest.write(guest.open("/dev/full", o_wronly), "x"), -ENOSPC);
    EXPECT_EQ(guest.read(guest.open("/dev/full"), 2), std::string(2, '\0'));
    const std::int32_t random = guest.open("/dev/urandom");
    EXPECT_NE(guest.read(random, 16), guest.read(random, 16));
    EXPECT_EQ(guest.open("/dev/tty", o_rdwr), -ENXIO);
    const std::int32_t master = guest.open("/dev/ptmx", o_rdwr);
    ASSERT_GE(master, 0);
    EXPECT_EQ(guest.link_target(fd_path(null)), "/dev/null");
    EXPECT_EQ(guest.open(fd_path(null), o_rdwr) >= 0, true);
  });
}

}  // namespace
}  // namespace cloche::kernel
