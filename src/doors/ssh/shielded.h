// SPDX-License-Identifier: Apache-2.0
// shielded: what a callback of libssh does. No exception leaves it: the caller is C. Where there is
// one, the host has no thread, descriptor or memory for what the client asks, and it is refused.
#pragma once

#include <exception>

namespace cloche::ssh {

template <typename Answer, typename Body>
Answer shielded(Answer refused, Body body) noexcept {
  try {
    return body();
  } catch (const std::exception&) {
    return refused;
  }
}

}  // namespace cloche::ssh
