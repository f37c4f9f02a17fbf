// SPDX-License-Identifier: Apache-2.0
#include "native/warden/machine_filter.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "native/warden/filter.h"
#include "native/warden/load_filter.h"

namespace cloche::warden {
namespace {

constexpr std::uint32_t quotactl_fd_number = 443;

// From here on x86-64 has the calls of its x32 once more, and other machines have none.
constexpr std::uint32_t first_of_x32 = 0x40000000;

constexpr std::array calls_of_machine = std::to_array<std::uint32_t>({
    SYS_acct,
    SYS_add_key,
    SYS_adjtimex,
    SYS_bpf,
    SYS_clock_adjtime,
    SYS_clock_settime,
    SYS_delete_module,
    SYS_fanotify_init,
    SYS_finit_module,
    SYS_init_module,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_io_uring_setup,
    SYS_kexec_file_load,
    SYS_kexec_load,
    SYS_keyctl,
    SYS_open_by_handle_at,
    SYS_perf_event_open,
    SYS_quotactl,
    quotactl_fd_number,
    SYS_reboot,
    SYS_request_key,
    SYS_settimeofday,
    SYS_swapoff,
    SYS_swapon,
    SYS_syslog,
    SYS_userfaultfd,
    SYS_vhangup,
#if defined(__x86_64__)
    SYS_ioperm,
    SYS_iopl,
#endif
});

}  // namespace

// Of another architecture, or of x32, there is nothing: each of these calls has another number there.
bool leave_the_machine_alone() noexcept {
  constexpr std::uint16_t load = BPF_LD | BPF_W | BPF_ABS, equal = BPF_JMP | BPF_JEQ | BPF_K,
                          not_below = BPF_JMP | BPF_JGE | BPF_K, answer = BPF_RET | BPF_K;
  std::array<sock_filter, calls_of_machine.size() + 7> code{};
  std::size_t size = 0;
  const auto add = [&](std::uint16_t kind, std::uint32_t value, std::size_t yes, std::size_t no) {
    code[size++] = {kind, static_cast<std::uint8_t>(yes), static_cast<std::uint8_t>(no), value};
  };
  const auto refuse = [](int error) {
    return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error);
  };
  constexpr std::size_t calls = calls_of_machine.size();
  add(load, offsetof(seccomp_data, arch), 0, 0);
  add(equal, own_architecture, 0, calls + 4);
  add(load, offsetof(seccomp_data, nr), 0, 0);
  add(not_below, first_of_x32, calls + 2, 0);
  for (std::size_t i = 0; i < calls; ++i) add(equal, calls_of_machine[i], calls - i, 0);
  add(answer, SECCOMP_RET_ALLOW, 0, 0);
  add(answer, refuse(EPERM), 0, 0);
  add(answer, refuse(ENOSYS), 0, 0);
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  const sock_fprog program{static_cast<unsigned short>(size), code.data()};
  return load_filter(program) == 0;
}

}  // namespace cloche::warden
