// SPDX-License-Identifier: Apache-2.0
// clock_res_get, clock_time_get.
#include "kernel/kernel.h"
#include "kernel/wasi/wasi_call.h"
#include "kernel/wasi/wasi_clock.h"

namespace cloche::kernel::wasi {
namespace {

Result<void> clock_res_get(Call& call, std::uint32_t id, std::uint32_t out) {
  if (id > clock_thread_cputime) return Errno::inval;
  return call.memory.write<std::uint64_t>(out, 1);
}

// The precision is a wish; every clock here is as exact as it can be.
Result<void> clock_time_get(Call& call, std::uint32_t id, std::uint64_t /*precision_ns*/,
                            std::uint32_t out) REQUIRES(kernel_lock) {
  CLOCHE_ASSIGN(const std::uint64_t now_ns, clock_now_ns(call.task, id));
  return call.memory.write(out, now_ns);
}

}  // namespace

Result<std::uint64_t> clock_now_ns(const Task& task, std::uint32_t id) {
  using std::chrono::duration_cast;
  using std::chrono::nanoseconds;
  switch (id) {
    case clock_realtime:
      return static_cast<std::uint64_t>(
          duration_cast<nanoseconds>(task.kernel().clock().wall().time_since_epoch()).count());
    case clock_monotonic:
      return static_cast<std::uint64_t>(
          duration_cast<nanoseconds>(task.kernel().clock().steady() - task.kernel().booted())
              .count());
    case clock_process_cputime:
    case clock_thread_cputime: return static_cast<std::uint64_t>(task.cpu_time().count());
    default: return Errno::inval;
  }
}

Functions clock_calls() {
  return {function<"clock_res_get", clock_res_get>(), function<"clock_time_get", clock_time_get>()};
}

}  // namespace cloche::kernel::wasi
