// SPDX-License-Identifier: Apache-2.0
// HostError: an Error of kind host: something failed on the host while it was set up (a file, a
// memory mapping, the engine). Its sentence says what failed, and what to do where that is known.
// Thrown only outside of guest execution.
#pragma once

#include <string>

#include "base/error.h"

namespace cloche {

class HostError : public Error {
 public:
  explicit HostError(const std::string& what, Errno code = Errno::io)
      : Error(ErrorKind::host, code, what) {}

  // "<step>: <strerror(host_errno)>"
  static HostError from_errno(const std::string& step, int host_errno);
};

}  // namespace cloche
