// SPDX-License-Identifier: Apache-2.0
#include "base/refused_threads_testing.h"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>

namespace cloche {
namespace {

std::atomic<int> refusing = 0, left_to_give = 0;

}  // namespace

RefusedThreads::RefusedThreads(int given) noexcept {
  left_to_give = given;
  ++refusing;
}
RefusedThreads::~RefusedThreads() { --refusing; }

}  // namespace cloche

#if !defined(CLOCHE_SANITIZED)

// Taken before the C library's by all that this program links.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*body)(void*), void* argument) noexcept {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create = reinterpret_cast<Create>(::dlsym(RTLD_NEXT, "pthread_create"));
  if (cloche::refusing > 0 && cloche::left_to_give.fetch_sub(1) <= 0) return EAGAIN;
  return create(thread, attributes, body, argument);
}

#endif
