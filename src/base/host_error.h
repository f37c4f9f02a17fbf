// SPDX-License-Identifier: Apache-2.0
// HostError: something failed on the host while it was set up (a file, a memory mapping, the
// engine). It carries one clear sentence that says what failed, and what to do where that is known.
// Thrown only outside of guest execution.
#pragma once

#include <stdexcept>
#include <string>

namespace cloche {

class HostError : public std::runtime_error {
 public:
  explicit HostError(const std::string& what) : std::runtime_error(what) {}

  // "<step>: <strerror(host_errno)>"
  static HostError from_errno(const std::string& step, int host_errno);
};

}  // namespace cloche
