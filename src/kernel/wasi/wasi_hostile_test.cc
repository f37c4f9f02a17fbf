// SPDX-License-Identifier: Apache-2.0
// Every WASI function against arguments that no honest program passes. Whatever happens, the answer
// is an errno (or the guest's own end), and the host lives.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>

#include "kernel/files/pipe.h"
#include "kernel/wasi/puppet_testing.h"
#include "kernel/wasi/wasi_call.h"

namespace cloche::kernel::wasi {
namespace {

constexpr std::uint32_t end = Puppet::memory_bytes;

// Functions that end the guest, or that have a test of their own below because they may sleep.
bool left_out(std::string_view name) {
  return name == "proc_exit" || name == "proc_raise" || name == "poll_oneoff" ||
         name == "fd_close" || name == "fd_renumber";
}

TEST(WasiHostile, InterfaceIsComplete) { EXPECT_EQ(all_calls().size(), 46u); }

// All arguments the same wild value, and then one wild value among plausible ones.
TEST(WasiHostile, WildArgumentsAreErrors) {
  TestKernel machine;
  machine.write_file("/tmp/file", "content", 0666);
  const WaitStatus status = run_puppet(machine, {}, [&](Puppet& guest) {
    const std::int32_t file = guest.open("tmp/file");
    ASSERT_GE(file, 0);
    constexpr std::array<std::uint64_t, 9> wild{0xffffffff, 0x7fffffff, 0x80000000,
                                                end - 1,    end,        end + 1,
                                                0xfffffffc, 0xfffff000, ~std::uint64_t{0}};
    for (const wasm::HostFunction& function : all_calls()) {
      if (left_out(function.name)) continue;
      for (const std::uint64_t value : wild) {
        const std::int32_t error = guest.call_typed(
            function, std::vector<std::uint64_t>(function.parameters.size(), value));
        // No number of these is a descriptor, a clock or an address of anything. What has nothing
        // to give needs no address.
        if (!function.parameters.empty() && function.name != "environ_get") {
          EXPECT_NE(error, ok) << function.name << " " << value;
        }
        for (std::size_t i = 0; i < function.parameters.size(); ++i) {
          std::vector<std::uint64_t> arguments(function.parameters.size(), 8);
          arguments[0] = static_cast<std::uint64_t>(file);
          arguments[i] = value;
          guest.call_typed(function, arguments);
        }
      }
    }
    // The guest is still served.
    EXPECT_EQ(guest.call("clock_time_get", 0, std::uint64_t{0}, 64), ok);
  });
  EXPECT_EQ(status.exit_code(), 0);
  EXPECT_TRUE(status.is_exited());
}

TEST(WasiHostile, OutPointersBeyondMemoryAreEfaultAndHaveNoEffect) {
  TestKernel machine;
  machine.write_file("/tmp/file", "content", 0666);
  run_puppet(machine, {}, [&](Puppet& guest) {
    const std::int32_t file = guest.open("tmp/file");
    ASSERT_GE(file, 0);
    const std::uint32_t buffer = guest.reserve(16);
    const std::uint32_t iov = guest.put(IoVec{buffer, 4});
    const std::uint32_t name = guest.put("tmp/file");
    for (const std::uint32_t bad : {end - 1, end, 0xffffffffu, 0xfffffffcu}) {
      SCOPED_TRACE(bad);
      EXPECT_EQ(guest.call("fd_read", file, iov, 1, bad), fault);
      EXPECT_EQ(guest.call("fd_write", file, iov, 1, bad), fault);
      EXPECT_EQ(guest.call("fd_seek", file, std::int64_t{3}, 0, bad), fault);
      EXPECT_EQ(guest.call("fd_tell", file, bad), fault);
      EXPECT_EQ(guest.call("fd_fdstat_get", file, bad), fault);
      EXPECT_EQ(guest.call("fd_filestat_get", file, bad), fault);
      EXPECT_EQ(guest.call("fd_prestat_get", 3, bad), fault);
      EXPECT_EQ(guest.call("fd_prestat_dir_name", 3, bad, 1), bad == end - 1 ? ok : fault);
      EXPECT_EQ(guest.call("clock_time_get", 0, std::uint64_t{0}, bad), fault);
      EXPECT_EQ(guest.call("clock_res_get", 0, bad), fault);
      EXPECT_EQ(guest.call("args_sizes_get", bad, buffer), fault);
      EXPECT_EQ(guest.call("args_sizes_get", buffer, bad), fault);
      EXPECT_EQ(guest.call("args_get", bad, buffer), fault);
      EXPECT_EQ(guest.call("args_get", buffer, bad), fault);
      EXPECT_EQ(guest.call("random_get", bad, 8), fault);
      EXPECT_EQ(guest.call("path_open", 3, 1, name, 8, 0, right_fd_read, std::uint64_t{0}, 0, bad),
                fault);
      EXPECT_EQ(guest.call("path_filestat_get", 3, 1, name, 8, bad), fault);
      EXPECT_EQ(guest.call("path_filestat_get", 3, 1, bad, 8, buffer), fault);
      EXPECT_EQ(guest.call("fd_readdir", 3, bad, 100, std::uint64_t{0}, buffer), fault);
      EXPECT_EQ(guest.call("fd_readdir", 3, buffer, 16, std::uint64_t{0}, bad), fault);
    }
    // No byte was read, written or opened meanwhile.
    EXPECT_EQ(guest.read(file, 16), "content");
    EXPECT_EQ(guest.open("tmp/file"), file + 1);
  });
}

TEST(WasiHostile, IoVectorsAreBounded) {
  TestKernel machine;
  machine.write_file("/tmp/file", "content", 0666);
  run_puppet(machine, {}, [&](Puppet& guest) {
    const std::int32_t file = guest.open("tmp/file");
    const std::uint32_t out = guest.reserve(4);
    // More than IOV_MAX, a count whose size overflows, an array that ends outside of memory.
    EXPECT_EQ(guest.call("fd_read", file, 0, 1025, out), inval);
    EXPECT_EQ(guest.call("fd_read", file, 0, 0x20000001, out), inval);
    EXPECT_EQ(guest.call("fd_read", file, end - 8, 2, out), fault);
    EXPECT_EQ(guest.call("fd_write", file, end - 4, 1, out), fault);
    // Buffers that start or end outside, and lengths that overflow in sum.
    EXPECT_EQ(guest.call("fd_read", file, guest.put(IoVec{end - 2, 4}), 1, out), fault);
    EXPECT_EQ(guest.call("fd_read", file, guest.put(IoVec{4, 0xffffffff}), 1, out), inval);
    const std::array<IoVec, 2> sum{IoVec{0, 0x7fffffff}, IoVec{0, 1}};
    EXPECT_EQ(guest.call("fd_write", file, guest.put(sum), 2, out), fault);
    const std::array<IoVec, 2> second_bad{IoVec{out, 4}, IoVec{end, 1}};
    EXPECT_EQ(guest.call("fd_read", file, guest.put(second_bad), 2, out), fault);
    // An empty buffer may point anywhere.
    EXPECT_EQ(guest.call("fd_read", file, guest.put(IoVec{0xffffffff, 0}), 1, out), ok);
    EXPECT_EQ(guest.get<std::uint32_t>(out), 0u);
    EXPECT_EQ(guest.call("fd_pread", file, out, 0, std::uint64_t{1} << 63, out), inval);
    EXPECT_EQ(guest.call("fd_pwrite", file, out, 0, ~std::uint64_t{0}, out), inval);
    EXPECT_EQ(guest.read(file, 16), "content");
  });
}

TEST(WasiHostile, PathsAreBounded) {
  TestKernel machine;
  run_puppet(machine, {}, [&](Puppet& guest) {
    const std::uint32_t out = guest.reserve(64);
    const std::uint32_t path = guest.put(std::string(5000, 'a'));
    EXPECT_EQ(guest.call("path_filestat_get", 3, 0, path, 0, out), noent);
    EXPECT_EQ(guest.call("path_filestat_get", 3, 0, path, 256, out), nametoolong);
    EXPECT_EQ(guest.call("path_filestat_get", 3, 0, path, 4096, out), nametoolong);
    EXPECT_EQ(guest.call("path_filestat_get", 3, 0, path, 0xffffffff, out), nametoolong);
    EXPECT_EQ(guest.call("path_filestat_get", 3, 0, end - 3, 4, out), fault);
    EXPECT_EQ(guest.call("path_create_directory", 3, guest.put(std::string_view("tmp\0x", 5)), 5),
              inval);
    EXPECT_EQ(guest.call("path_filestat_get", 3, 2, path, 1, out), inval);
    EXPECT_EQ(guest.call("path_open", 3, 0, path, 1, 16, right_fd_read, std::uint64_t{0}, 0, out),
              inval);
    EXPECT_EQ(guest.call("path_open", 3, 0, path, 1, 0, right_fd_read, std::uint64_t{0}, 32, out),
              inval);
    EXPECT_EQ(guest.call("path_symlink", path, 0, 3, path, 3), noent);
    EXPECT_EQ(guest.call("path_symlink", path, 4096, 3, path, 3), nametoolong);
  });
}

TEST(WasiHostile, SymlinkLoopsEnd) {
  TestKernel machine;
  run_puppet(machine, {}, [&](Puppet& guest) {
    const std::uint32_t target = guest.put("loop");
    const std::uint32_t name = guest.put("tmp/loop");
    EXPECT_EQ(guest.call("path_symlink", target, 4, 3, name, 8), ok);
    EXPECT_EQ(guest.open("tmp/loop"), -loop);
    EXPECT_EQ(guest.call("path_filestat_get", 3, 0, name, 8, guest.reserve(64)), ok);
    EXPECT_EQ(guest.call("path_filestat_get", 3, 1, name, 8, guest.reserve(64)), loop);
  });
}

TEST(WasiHostile, PathsDoNotLeaveTheRoot) {
  TestKernel machine;
  machine.write_file("/etc/here", "inside");
  run_puppet(machine, {}, [&](Puppet& guest) {
    const std::int32_t file = guest.open("../../../../../../etc/here", 0, right_fd_read);
    ASSERT_GE(file, 0);
    EXPECT_EQ(guest.read(file, 16), "inside");
    EXPECT_EQ(guest.open("../../../../../../etc/hostname", 0, right_fd_read), -noent);
  });
}

TEST(WasiHostile, PermissionsHold) {
  TestKernel machine;
  machine.write_file("/etc/secret", "s", 0600);
  machine.write_file("/etc/public", "p", 0644);
  run_puppet(machine, {}, [&](Puppet& guest) {
    EXPECT_EQ(guest.open("etc/secret"), -acces);
    EXPECT_EQ(guest.open("etc/public"), -acces);  // asks for writing too
    EXPECT_GE(guest.open("etc/public", 0, right_fd_read), 0);
    EXPECT_EQ(guest.open("etc/new", oflag_creat), -acces);
    const std::uint32_t name = guest.put("etc/public");
    EXPECT_EQ(guest.call("path_unlink_file", 3, name, 10), acces);
    EXPECT_EQ(guest.call("path_filestat_set_times", 3, 0, name, 10, std::uint64_t{0},
                         std::uint64_t{0}, fstflag_atim),
              perm);
  });
}

TEST(WasiHostile, DescriptorsRunOut) {
  KernelOptions options;
  options.limits.max_open_files = 16;
  TestKernel machine(std::move(options));
  machine.write_file("/tmp/file", "content", 0666);
  run_puppet(machine, {}, [&](Puppet& guest) {
    std::int32_t last = 0;
    for (int i = 0; i < 100 && last >= 0; ++i) last = guest.open("tmp/file");
    EXPECT_EQ(last, -mfile);
    EXPECT_EQ(guest.call("fd_renumber", 3, 4000), badf);
    EXPECT_EQ(guest.call("fd_close", 15), ok);
    EXPECT_EQ(guest.call("fd_close", 15), badf);
    EXPECT_EQ(guest.open("tmp/file"), 15);
  });
}

TEST(WasiHostile, SubscriptionsAreChecked) {
  TestKernel machine;
  run_puppet(machine, {}, [&](Puppet& guest) {
    const std::uint32_t in = guest.put(Subscription{});
    const std::uint32_t out = guest.reserve(sizeof(Event));
    const std::uint32_t count = guest.reserve(4);
    EXPECT_EQ(guest.call("poll_oneoff", in, out, 0, count), inval);
    EXPECT_EQ(guest.call("poll_oneoff", in, out, 4097, count), inval);
    EXPECT_EQ(guest.call("poll_oneoff", in, out, 0xffffffff, count), inval);
    EXPECT_EQ(guest.call("poll_oneoff", end - 47, out, 1, count), fault);
    EXPECT_EQ(guest.call("poll_oneoff", in, end - 31, 1, count), fault);
    EXPECT_EQ(guest.call("poll_oneoff", in, out, 1, end - 3), fault);
    Subscription strange;
    strange.type = 9;
    EXPECT_EQ(guest.call("poll_oneoff", guest.put(strange), out, 1, count), inval);
  });
}

TEST(WasiHostile, ClosingTheStandardFilesAndPreopensIsTheGuestsOwnTrouble) {
  TestKernel machine;
  const WaitStatus status = run_puppet(machine, {}, [&](Puppet& guest) {
    for (int fd = 0; fd < 8; ++fd) (void)guest.call("fd_close", fd);
    EXPECT_EQ(guest.open("tmp"), -badf);
    EXPECT_EQ(guest.call("fd_prestat_get", 3, guest.reserve(8)), badf);
  });
  EXPECT_EQ(status.raw(), 0);
}

}  // namespace
}  // namespace cloche::kernel::wasi
