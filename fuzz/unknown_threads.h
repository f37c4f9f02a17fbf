// SPDX-License-Identifier: Apache-2.0
// For targets whose guests run on threads: LeakSanitizer does not find all of these in its registry
// (LSAN_OPTIONS=log_threads=1 says which), and takes what the C library keeps for their last
// objects for a leak, as nothing else leads to it.
#pragma once

// One source a program includes this.
extern "C" const char* __lsan_default_suppressions() {  // NOLINT
  return "leak:__cxa_thread_atexit_impl";
}
