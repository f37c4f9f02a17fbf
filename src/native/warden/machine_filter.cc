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

constexpr std::array<std::uint32_t, 28> calls_of_machine{
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
};

}  // namespace

// What is of another architecture has no number here, and the filter of programs refuses it.
bool leave_the_machine_alone() noexcept {
  std::array<sock_filter, calls_of_machine.size() + 5> code{};
  std::size_t size = 0;
  const auto add = [&](unsigned kind, std::uint32_t value, std::size_t yes, std::size_t no) {
    code[size++] = {static_cast<std::uint16_t>(kind), static_cast<std::uint8_t>(yes),
                    static_cast<std::uint8_t>(no), value};
  };
  add(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch), 0, 0);
  add(BPF_JMP | BPF_JEQ | BPF_K, own_architecture, 0, calls_of_machine.size() + 1);
  add(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr), 0, 0);
  for (std::size_t i = 0; i < calls_of_machine.size(); ++i)
    add(BPF_JMP | BPF_JEQ | BPF_K, calls_of_machine[i], calls_of_machine.size() - i, 0);
  add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
  add(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM, 0, 0);
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  const sock_fprog program{static_cast<unsigned short>(size), code.data()};
  return load_filter(program) == 0;
}

}  // namespace cloche::warden
