// SPDX-License-Identifier: Apache-2.0
#include "base/call_filter.h"

#include <linux/audit.h>
#include <sys/prctl.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <thread>

namespace cloche {
namespace {

constexpr int no_code_memory = 524;  // ENOTSUPP, which is the kernel's own: no header has it
constexpr std::chrono::milliseconds first_wait{1};
constexpr std::chrono::milliseconds last_wait{256};

#if defined(__x86_64__)
constexpr std::uint32_t architecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t architecture = AUDIT_ARCH_AARCH64;
#else
#error "the filter knows x86-64 and aarch64"
#endif

CallFilter::Step load(std::size_t offset) noexcept {
  return {BPF_LD | BPF_W | BPF_ABS, 0, 0, static_cast<std::uint32_t>(offset)};
}

}  // namespace

CallFilter::CallFilter()
    : steps_{load(offsetof(seccomp_data, arch)),
             {BPF_JMP | BPF_JEQ | BPF_K, 1, 0, architecture},
             answer(SECCOMP_RET_KILL_PROCESS),
             load(offsetof(seccomp_data, nr))} {}

void CallFilter::allow(long call) {
  add({skip_unless(static_cast<std::uint32_t>(call), 1), answer(SECCOMP_RET_ALLOW)});
}

CallFilter::Step CallFilter::load_argument(unsigned index) noexcept {
  return load(offsetof(seccomp_data, args) + index * sizeof(std::uint64_t));
}

CallFilter::Step CallFilter::skip_unless(std::uint32_t value, std::uint8_t skipped) noexcept {
  return {BPF_JMP | BPF_JEQ | BPF_K, 0, skipped, value};
}

CallFilter::Step CallFilter::answer(std::uint32_t action) noexcept {
  return {BPF_RET | BPF_K, 0, 0, action};
}

bool CallFilter::enter(std::uint32_t otherwise) {
  add({answer(otherwise)});
  const sock_fprog program{static_cast<unsigned short>(steps_.size()), steps_.data()};
  // The kernel may lack the memory for its machine code for a moment.
  for (auto wait = first_wait;; wait *= 2) {
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0) return true;
    if ((errno != no_code_memory && errno != ENOMEM) || wait > last_wait) return false;
    std::this_thread::sleep_for(wait);
  }
}

}  // namespace cloche
