// SPDX-License-Identifier: Apache-2.0
// What `top -H`, a profiler and a debugger call a thread: name_thread names the calling one,
// with_name makes of what a new one does the same under a name.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <utility>

namespace cloche {

// The kernel keeps 15 bytes of it.
template <std::size_t size>
void name_thread(const char (&name)[size]) noexcept {
  static_assert(size <= 16);
  (void)::pthread_setname_np(::pthread_self(), static_cast<const char*>(name));
}

// `name`: a literal.
template <std::size_t size, typename Body>
auto with_name(const char (&name)[size], Body body) {
  return [&name, body = std::move(body)]() mutable {
    name_thread(name);
    body();
  };
}

}  // namespace cloche
