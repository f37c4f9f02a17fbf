// SPDX-License-Identifier: Apache-2.0
#include "sandbox/native/sealed_file.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>

#include "base/write_fully.h"

namespace cloche::sandbox {

Result<void> seal(const UniqueFd& file) {
  constexpr int content = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  // F_SEAL_EXEC, from Linux 6.3: a guest that is this process's user is the file's owner, and could
  // make it one that nobody executes.
  constexpr int mode = 0x20;
  if ((::fcntl(file.get(), F_ADD_SEALS, content | mode) != 0 &&
       ::fcntl(file.get(), F_ADD_SEALS, content) != 0) ||
      ::lseek(file.get(), 0, SEEK_SET) != 0)
    return errno_from_host(errno);
  return {};
}

Result<UniqueFd> make_sealed_file(std::string_view content, FileUse use) {
  constexpr unsigned may_be_executed = 0x10;  // MFD_EXEC, from Linux 6.3
  const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  UniqueFd file;
  if (use == FileUse::execute) file.reset(::memfd_create("cloche", flags | may_be_executed));
  if (!file) file.reset(::memfd_create("cloche", flags));
  if (!file || !write_fully(file.get(), content)) return errno_from_host(errno);
  CLOCHE_TRY(seal(file));
  return file;
}

}  // namespace cloche::sandbox
