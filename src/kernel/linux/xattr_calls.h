// SPDX-License-Identifier: Apache-2.0
// Extended attributes, by path, by path without following a last link, and by descriptor.
#pragma once

#include "kernel/linux/call.h"
#include "kernel/time/kernel_lock.h"

namespace cloche::kernel::lnx {

SysResult setxattr(Call& call) REQUIRES(kernel_lock);
SysResult lsetxattr(Call& call) REQUIRES(kernel_lock);
SysResult fsetxattr(Call& call) REQUIRES(kernel_lock);
SysResult getxattr(Call& call) REQUIRES(kernel_lock);
SysResult lgetxattr(Call& call) REQUIRES(kernel_lock);
SysResult fgetxattr(Call& call) REQUIRES(kernel_lock);
SysResult listxattr(Call& call);
SysResult llistxattr(Call& call);
SysResult flistxattr(Call& call);
SysResult removexattr(Call& call) REQUIRES(kernel_lock);
SysResult lremovexattr(Call& call) REQUIRES(kernel_lock);
SysResult fremovexattr(Call& call) REQUIRES(kernel_lock);

}  // namespace cloche::kernel::lnx
