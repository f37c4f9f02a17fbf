// SPDX-License-Identifier: Apache-2.0
// The memory of tasks that are parked for long: Kernel::watch_idle, Kernel::pack_idle.
#include <new>
#include <optional>

#include "base/host_error.h"
#include "kernel/kernel.h"
#include "kernel/process/task.h"
#include "kernel/time/timer_thread.h"
#include "wasm/packed_memory.h"

namespace cloche::kernel {
namespace {

void pack(Task& task) {
  if (task.program().startup.pack) {
    task.program().startup.pack(task);
  } else {
    (void)wasm::pack_memory(task.instance());
  }
}

}  // namespace

// One timer at a time, however often tasks are parked. Where the host refuses it, the next one that
// is parked asks for it.
void Kernel::watch_idle(SteadyTime since) {
  if (services_.idle_timers == nullptr || is_idle_watched_) return;
  try {
    services_.idle_timers->add(since + services_.idle_after, this, [this] { pack_idle(); });
    is_idle_watched_ = true;
  } catch (const HostError&) {
    // As above.
  } catch (const std::bad_alloc&) {
    // As above.
  }
}

void Kernel::pack_idle() {
  const KernelLock lock(mutex_);
  is_idle_watched_ = false;
  const SteadyTime now = clock_.steady();
  std::optional<SteadyTime> oldest;
  for (const auto& [pid, task] : parked_) {
    if (!task->instance_) continue;
    const SteadyTime since = task->parked_since_;
    if (since + services_.idle_after <= now) {
      pack(*task);
    } else if (!oldest || since < *oldest) {
      oldest = since;
    }
  }
  if (oldest) watch_idle(*oldest);
}

}  // namespace cloche::kernel
