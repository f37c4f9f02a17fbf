// SPDX-License-Identifier: Apache-2.0
// struct rusage of 32-bit Linux with its own (32-bit) times, as the system calls give it.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>

#include "kernel/process/process.h"

namespace cloche::kernel::lnx {

struct GuestUsage {
  std::int32_t user_s, user_us, system_s, system_us;
  std::int32_t max_rss_kib;
  std::array<std::int32_t, 13> rest;
};
static_assert(sizeof(GuestUsage) == 72);

// All CPU time counts as user time: the host's kernel does not tell them apart for a guest.
inline GuestUsage guest_usage(const Usage& usage) {
  GuestUsage out{};
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(usage.cpu).count();
  out.user_s = static_cast<std::int32_t>(us / 1'000'000);
  out.user_us = static_cast<std::int32_t>(us % 1'000'000);
  out.max_rss_kib = static_cast<std::int32_t>(usage.max_memory_bytes / 1024);
  return out;
}

}  // namespace cloche::kernel::lnx
