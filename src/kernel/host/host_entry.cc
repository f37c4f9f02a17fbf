// SPDX-License-Identifier: Apache-2.0
#include "kernel/host/host_entry.h"

#include "kernel/kernel.h"

namespace cloche::kernel::detail {

KernelEntry::KernelEntry(wasm::HostCall& host)
    : host_(host), task_(host.owner<Task>()), lock_(task_.kernel().mutex()) {
  task_.begin_call();
}

KernelEntry::~KernelEntry() {
  // A task that failed to attend for want of memory still has its attention flag, so the next call
  // tries again.
  if (task_.attention()) {
    (void)without_exceptions<Result<bool>>(
        [&]() REQUIRES(kernel_lock) -> Result<bool> { return task_.attend(); });
  }
  if (task_.unwinding()) host_.unwind();
}

}  // namespace cloche::kernel::detail
