// SPDX-License-Identifier: Apache-2.0
// proc_exit, proc_raise, sched_yield.
#include <thread>

#include "kernel/kernel.h"
#include "kernel/wasi/wasi_call.h"

namespace cloche::kernel::wasi {
namespace {

// WASI numbers its signals as Linux does, without SIGSTKFLT (16).
constexpr std::uint32_t wasi_signal_max = 30;
constexpr int linux_signal(std::uint32_t wasi_signal) {
  const int signo = static_cast<int>(wasi_signal);
  return signo < sigstkflt ? signo : signo + 1;
}
static_assert(linux_signal(16) == sigchld && linux_signal(wasi_signal_max) == sigsys);

void proc_exit(wasm::HostCall& host, std::uint32_t code) noexcept {
  (void)enter_kernel(
      host, [&](Task& task, const wasm::GuestMemory&) REQUIRES(kernel_lock) -> Result<void> {
        if (task.kernel().options().trace_syscalls) {
          trace(task, "proc_exit", std::array<std::uint64_t, 1>{code}, {});
        }
        (void)task.exit(WaitStatus::exited(static_cast<int>(code & 0xff)));
        return {};
      });
}

Result<void> proc_raise(Call& call, std::uint32_t wasi_signal) REQUIRES(kernel_lock) {
  if (wasi_signal > wasi_signal_max) return Errno::inval;
  if (wasi_signal == 0) return {};
  return call.kernel.post(call.process, SignalInfo{.signo = linux_signal(wasi_signal),
                                                   .code = si_tkill,
                                                   .pid = call.process.pid(),
                                                   .uid = call.process.credentials.uid});
}

std::int32_t sched_yield(wasm::HostCall& host) noexcept {
  std::this_thread::yield();
  (void)enter_kernel(host, [](Task& task, const wasm::GuestMemory&) -> Result<void> {
    if (task.kernel().options().trace_syscalls) trace(task, "sched_yield", {}, {});
    return {};
  });
  return 0;
}

}  // namespace

Functions process_calls() {
  return {wasm::host_function<proc_exit>(module_name, "proc_exit"),
          function<"proc_raise", proc_raise>(),
          wasm::host_function<sched_yield>(module_name, "sched_yield")};
}

}  // namespace cloche::kernel::wasi
