// SPDX-License-Identifier: Apache-2.0
// Extended attributes, by path, by path without following a last link, and by descriptor.
#pragma once

#include "kernel/linux/call.h"

namespace cloche::kernel::lnx {

SysResult setxattr(Call& call);
SysResult lsetxattr(Call& call);
SysResult fsetxattr(Call& call);
SysResult getxattr(Call& call);
SysResult lgetxattr(Call& call);
SysResult fgetxattr(Call& call);
SysResult listxattr(Call& call);
SysResult llistxattr(Call& call);
SysResult flistxattr(Call& call);
SysResult removexattr(Call& call);
SysResult lremovexattr(Call& call);
SysResult fremovexattr(Call& call);

}  // namespace cloche::kernel::lnx
