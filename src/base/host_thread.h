// SPDX-License-Identifier: Apache-2.0
// host_thread: a thread that what is made of it cannot be without. Where the host gives none, that
// is an Error as any other of the host's.
#pragma once

#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "base/host_error.h"

namespace cloche {

// `what` it is for, as in "a command". Throws HostError (EAGAIN).
template <typename Body>
std::thread host_thread(std::string_view what, Body&& body) {
  try {
    return std::thread(std::forward<Body>(body));
  } catch (const std::system_error&) {
    throw HostError("this machine gives no thread for " + std::string(what) + ": it has too many",
                    Errno::again);
  }
}

}  // namespace cloche
