// SPDX-License-Identifier: Apache-2.0
#include "sandbox/native/runsc_program.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "base/host_error.h"
#include "sandbox/host_folders.h"

namespace cloche::sandbox {

UniqueFd open_runsc(const std::filesystem::path& system_folder) {
  const std::filesystem::path program = default_runsc(system_folder);
  if (program.empty()) {
    throw HostError(
        "isolation=gvisor needs gVisor's program runsc, which is not here: run `make gvisor` in "
        "Cloche's sources, put one beside cloche-warden or into PATH, name one by CLOCHE_RUNSC, or "
        "choose isolation=full");
  }
  UniqueFd opened(::open(program.c_str(), O_RDONLY | O_CLOEXEC));
  if (!opened) {
    throw HostError(
        fmt::format("isolation=gvisor needs {}, which cannot be opened ({}): mend that, "
                    "name another runsc by CLOCHE_RUNSC, or choose isolation=full",
                    program.string(), std::strerror(errno)));
  }
  return opened;
}

}  // namespace cloche::sandbox
