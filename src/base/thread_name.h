// SPDX-License-Identifier: Apache-2.0
// name_thread: what `top -H`, a profiler and a debugger call the calling thread.
#pragma once

#include <pthread.h>

#include <cstddef>

namespace cloche {

// The kernel keeps 15 bytes of it.
template <std::size_t size>
void name_thread(const char (&name)[size]) noexcept {
  static_assert(size <= 16);
  (void)::pthread_setname_np(::pthread_self(), static_cast<const char*>(name));
}

}  // namespace cloche
