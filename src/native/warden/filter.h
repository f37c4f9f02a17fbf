// SPDX-License-Identifier: Apache-2.0
// The filter of system calls that all programs of a box have. One table says what may be called;
// what is not in it does not exist (ENOSYS), so that a new kernel brings nothing new in.
#pragma once

#include <linux/audit.h>
#include <linux/filter.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "native/warden/wire.h"

namespace cloche::warden {

#if defined(__x86_64__)
inline constexpr std::uint32_t own_architecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
inline constexpr std::uint32_t own_architecture = AUDIT_ARCH_AARCH64;
#else
#error "the filter knows x86-64 and aarch64"
#endif

enum class Rule : std::uint8_t {
  absent,  // ENOSYS
  allow,
  refuse,         // EPERM
  pretend,        // 0, and nothing is done: a change of owner, where a box has one user; sync
  clone,          // not with a new namespace
  socket,         // UNIX, INET, INET6 with usual protocols, and routes of NETLINK
  ioctl,          // nothing that types into a terminal or changes what a terminal is
  limit,          // not of pid 1
  persona,        // plain ones
  trace,          // no stop of a process that is ending
  map,            // no pages of the machine's pool of large ones, which nobody counts
  segment,        // the same of System V's memory
  option,         // no program of a socket, and no protocol above TCP
  seccomp,        // no further filter, and as if the kernel had none
  control,        // the same of prctl; and no table of the kernel's as large as one likes
  advice,         // nothing that takes what others have of a file out of memory
  memory_advice,  // the same of madvise
};

// What applies to the call of this number, of the machine's own architecture.
Rule rule_of(std::uint32_t number) noexcept;

class Filter {
 public:
  // Behind gVisor, which lets pid 1 be ended from within, it also holds what does that.
  explicit Filter(Isolation isolation = Isolation::full) noexcept;
  std::span<const sock_filter> program() const noexcept { return {code_.data(), size_}; }
  // For this thread and what it starts; it must have no_new_privs. False with errno.
  bool load() const noexcept;

 private:
  static constexpr std::size_t most_code = 1024;
  void add(std::uint16_t code, std::uint32_t value, std::uint8_t yes = 0, std::uint8_t no = 0);
  void answer(std::uint32_t action);
  void load_argument(unsigned index);
  void add_rule(Rule rule);
  void add_option_rule();

  std::array<sock_filter, most_code> code_{};
  std::size_t size_ = 0;
};

}  // namespace cloche::warden
