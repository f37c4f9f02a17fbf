// SPDX-License-Identifier: Apache-2.0
#include "kernel/linux/call.h"

namespace cloche::kernel::lnx {

Result<std::string> Call::path(std::size_t i) const {
  // Linear memory begins at 0, yet no string of a program lies at a null pointer.
  if (args[i] == 0) return Errno::fault;
  return memory.read_string(args[i], vfs::path_max - 1);
}

}  // namespace cloche::kernel::lnx
