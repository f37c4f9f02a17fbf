// SPDX-License-Identifier: Apache-2.0
// The calls on timers, which time_calls() lists: setitimer, POSIX timers, timerfd.
#pragma once

#include "kernel/linux/call.h"

namespace cloche::kernel::lnx {

SysResult getitimer(Call& call);
SysResult setitimer(Call& call);
SysResult timer_create(Call& call);
SysResult timer_gettime(Call& call);
SysResult timer_settime(Call& call);
SysResult timer_getoverrun(Call& call);
SysResult timer_delete(Call& call);
SysResult timerfd_create(Call& call);
SysResult timerfd_gettime(Call& call);
SysResult timerfd_settime(Call& call);

}  // namespace cloche::kernel::lnx
