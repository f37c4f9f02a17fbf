// SPDX-License-Identifier: Apache-2.0
// CallFilter: which system calls a process may still make, as a program of seccomp's. Rules are
// tried in the order in which they were added; calls of another architecture end the process.
//
// A rule that looks at arguments is written as steps: `skip_unless` a value is the loaded one,
// `load_argument`, `answer`.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <cstdint>
#include <initializer_list>
#include <vector>

namespace cloche {

class CallFilter {
 public:
  using Step = sock_filter;

  CallFilter();

  void allow(long call);
  void add(std::initializer_list<Step> steps) { steps_.insert(steps_.end(), steps); }

  // The number of the call is what is loaded at first. An argument's low half: what is looked at
  // has no other.
  static Step load_argument(unsigned index) noexcept;
  static Step skip_unless(std::uint32_t value, std::uint8_t skipped) noexcept;
  static Step answer(std::uint32_t action) noexcept;
  static constexpr std::uint32_t refusal(int error) noexcept {
    return SECCOMP_RET_ERRNO | (static_cast<std::uint32_t>(error) & SECCOMP_RET_DATA);
  }

  // From now on, for the calling thread and all that it starts; other calls get `otherwise`. False,
  // with errno, where the kernel takes no filter. Needs no_new_privs.
  [[nodiscard]] bool enter(std::uint32_t otherwise);

 private:
  std::vector<Step> steps_;
};

}  // namespace cloche
