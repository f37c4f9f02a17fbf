// SPDX-License-Identifier: Apache-2.0
#include "python/host_services.h"

#include "kernel/kernel.h"

namespace cloche::python {

HostServices* HostServices::of(const kernel::Kernel& kernel) noexcept {
  return dynamic_cast<HostServices*>(kernel.options().extension.get());
}

}  // namespace cloche::python
