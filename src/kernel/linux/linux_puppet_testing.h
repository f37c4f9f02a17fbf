// SPDX-License-Identifier: Apache-2.0
// A Linux guest on strings: a test's body tells it which system calls to make, and sees what it
// gets. The calls take the same way as those of any program. The body runs on the guest's thread,
// in the middle of its `_start`.
//
//   TestKernel machine;
//   run_guest(machine, [](Guest& guest) {
//     EXPECT_EQ(guest.call(nr::close, 7), -EBADF);
//   });
#pragma once

#include <cerrno>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "kernel/guest_scratch_testing.h"
#include "kernel/kernel_testing.h"
#include "kernel/time/kernel_lock.h"
#include "wasm/instance.h"

namespace cloche::kernel::lnx {

// Numbers of the calls that tests make.
namespace nr {
inline constexpr std::uint32_t setxattr = 5, getxattr = 8, listxattr = 11, removexattr = 14,
                               getcwd = 17, dup = 23, dup3 = 24, fcntl = 25, ioctl = 29, flock = 32,
                               mknodat = 33, mkdirat = 34, unlinkat = 35, symlinkat = 36,
                               linkat = 37, statfs = 43, fstatfs = 44, truncate = 45,
                               ftruncate = 46, fallocate = 47, faccessat = 48, chdir = 49,
                               fchdir = 50, fchmod = 52, fchmodat = 53, fchownat = 54, openat = 56,
                               close = 57, pipe2 = 59, getdents64 = 61, llseek = 62, read = 63,
                               write = 64, readv = 65, writev = 66, pread64 = 67, pwrite64 = 68,
                               sendfile = 71, readlinkat = 78, fsync = 82, umask = 166,
                               getpid = 172, prlimit64 = 261, renameat2 = 276, memfd_create = 279,
                               copy_file_range = 285, preadv2 = 286, pwritev2 = 287, statx = 291,
                               utimensat = 412, close_range = 436, openat2 = 437, faccessat2 = 439,
                               fchmodat2 = 452;
}  // namespace nr

inline constexpr std::int32_t at_cwd = -100;

class Guest : public GuestScratch {
 public:
  // The size of its memory.
  static constexpr std::uint32_t memory_bytes = 4 * 65536;

  Guest(wasm::Instance& instance, Process& process)
      : GuestScratch(instance, memory_bytes), process_(process) {}

  static constexpr std::int32_t unwound = INT32_MIN;

  Process& process() noexcept { return process_; }

  // The result of a system call: -errno when it failed, `unwound` when it ended the guest.
  template <typename... A>
  std::int32_t call(std::uint32_t number, A... arguments) {
    static_assert(sizeof...(A) <= 6);
    return call_words(number, {static_cast<std::uint32_t>(arguments)...});
  }
  std::int32_t call_words(std::uint32_t number, std::array<std::uint32_t, 6> words);

  using GuestScratch::put;
  // The text with a NUL.
  std::uint32_t put(std::string_view text);

  std::int32_t open(std::string_view path, std::uint32_t flags = 0, std::uint32_t mode = 0644);
  std::int32_t write(std::int32_t fd, std::string_view text);
  // At most `bytes`; "errno N" when it fails.
  std::string read(std::int32_t fd, std::uint32_t bytes = 4096);
  // The whole of a file; "errno N" when it cannot be opened.
  std::string content(std::string_view path);
  std::string link_target(std::string_view path);

 private:
  Process& process_;
};

using GuestScript = std::function<void(Guest&)>;

ProcessPtr start_guest(TestKernel& machine, GuestScript script, SpawnRequest request = {});
// The same, to its end.
WaitStatus run_guest(TestKernel& machine, GuestScript script, SpawnRequest request = {});

// Gives the machine /dev with its devices and links.
void add_dev(TestKernel& machine);

}  // namespace cloche::kernel::lnx
