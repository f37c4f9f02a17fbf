// SPDX-License-Identifier: Apache-2.0
#include "native/warden/load_filter.h"

#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

namespace cloche::warden {
namespace {

constexpr int no_code_memory = 524;  // ENOTSUPP, which is the kernel's own: no header has it
constexpr long first_wait_ns = 1'000'000;
constexpr long last_wait_ns = 256'000'000;

}  // namespace

int load_filter(const sock_fprog& program, unsigned long flags) noexcept {
  for (long wait_ns = first_wait_ns;; wait_ns *= 2) {
    const long result = ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
    if (result >= 0 || (errno != no_code_memory && errno != ENOMEM) || wait_ns > last_wait_ns)
      return static_cast<int>(result);
    const timespec wait{0, wait_ns};
    ::nanosleep(&wait, nullptr);
  }
}

}  // namespace cloche::warden
