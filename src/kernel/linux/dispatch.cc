// SPDX-License-Identifier: Apache-2.0
#include "kernel/linux/dispatch.h"

#include "kernel/host/host_entry.h"
#include "kernel/kernel.h"
#include "kernel/linux/call.h"
#include "kernel/linux/trace.h"
#include "kernel/statistics.h"

namespace cloche::kernel::lnx {
namespace {

constexpr std::int32_t restart_result = -static_cast<std::int32_t>(Errno::restart);

std::int32_t encode(const SysResult& result) {
  return result ? static_cast<std::int32_t>(*result) : -static_cast<std::int32_t>(result.error());
}

// Runs the handler until it has a result that is the guest's: Errno::restart without a handler to
// run (a stop and a continue, say) issues the call again at once.
SysResult perform(Call& call, const Entry& entry) REQUIRES(kernel_lock) {
  for (;;) {
    SysResult result = entry.handler(call);
    if (result || result.error() != Errno::restart) return result;
    const bool handler = call.task.attend();
    if (call.task.unwinding()) return result;
    if (handler) return call.task.handlers_restart() ? result : SysResult(Errno::intr);
  }
}

// sigsuspend, ppoll and pselect change the mask for their own time: when no handler takes the old
// one with it, it is set back here.
void restore_mask(Task& task) REQUIRES(kernel_lock) {
  SignalState& signals = task.process().signals;
  if (!signals.saved_mask || (task.attention() && task.attend())) return;
  signals.mask = *std::exchange(signals.saved_mask, std::nullopt);
}

std::int32_t syscall(wasm::HostCall& host, std::uint32_t number, std::uint32_t a, std::uint32_t b,
                     std::uint32_t c, std::uint32_t d, std::uint32_t e, std::uint32_t f) noexcept {
  const SysResult result = enter_kernel(
      host, [&](Task& task, const wasm::GuestMemory& memory) REQUIRES(kernel_lock) -> SysResult {
        Kernel& kernel = task.kernel();
        const Entry* entry = find_call(number);
        if (entry == nullptr) {
          kernel.statistics().count_unknown(number);
          trace_unknown(task, number);
          return Errno::nosys;
        }
        Call call{task, kernel, task.process(), memory, {a, b, c, d, e, f}};
        SysResult outcome = perform(call, *entry);
        restore_mask(task);
        if (kernel.options().trace_syscalls) trace_call(call, *entry, outcome);
        return outcome;
      });
  return encode(result);
}

std::int32_t clone(wasm::HostCall& host, std::uint32_t function, std::uint32_t argument,
                   std::uint32_t flags) noexcept {
  const SysResult result = enter_kernel(
      host, [&](Task& task, const wasm::GuestMemory&) REQUIRES(kernel_lock) -> SysResult {
        const Result<Pid> pid = task.clone(function, argument, flags);
        if (task.kernel().options().trace_syscalls) trace_clone(task, function, argument, pid);
        if (!pid) return pid.error();
        return *pid;
      });
  return encode(result);
}

static_assert(restart_result == -512, "docs/guest-abi.md");

}  // namespace

void define_imports(wasm::Linker& linker) {
  linker.define(wasm::host_function<syscall>("linux", "syscall"));
  linker.define(wasm::host_function<clone>("linux", "clone"));
}

}  // namespace cloche::kernel::lnx
