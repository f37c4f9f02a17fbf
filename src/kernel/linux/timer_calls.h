// SPDX-License-Identifier: Apache-2.0
// The calls on timers, which time_calls() lists: setitimer, POSIX timers, timerfd.
#pragma once

#include <cstdint>

#include "kernel/linux/call.h"
#include "kernel/time/kernel_lock.h"

namespace cloche::kernel::lnx {

constexpr std::uint32_t timer_abstime = 1;  // TFD_TIMER_ABSTIME too

SysResult getitimer(Call& call) REQUIRES(kernel_lock);
SysResult setitimer(Call& call) REQUIRES(kernel_lock);
SysResult timer_create(Call& call) REQUIRES(kernel_lock);
SysResult timer_gettime(Call& call) REQUIRES(kernel_lock);
SysResult timer_settime(Call& call) REQUIRES(kernel_lock);
SysResult timer_getoverrun(Call& call) REQUIRES(kernel_lock);
SysResult timer_delete(Call& call) REQUIRES(kernel_lock);
SysResult timerfd_create(Call& call) REQUIRES(kernel_lock);
SysResult timerfd_gettime(Call& call) REQUIRES(kernel_lock);
SysResult timerfd_settime(Call& call) REQUIRES(kernel_lock);

}  // namespace cloche::kernel::lnx
