// SPDX-License-Identifier: Apache-2.0
#include "sandbox/native/shell_image.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "sandbox/native/sealed_file.h"

namespace cloche::sandbox {
namespace {

constexpr blkcnt_t most_blocks_kept = (2 << 20) / 512;

}  // namespace

Result<ShellImage> ShellImage::make() {
  ShellImage made;
  made.file_.reset(::memfd_create("cloche", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!made.file_ || ::ftruncate(made.file_.get(), most_shell_image_bytes) != 0 ||
      ::fcntl(made.file_.get(), F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) != 0)
    return errno_from_host(errno);
  return made;
}

Result<void> ShellImage::seal() {
  if (is_sealed_) return {};
  CLOCHE_TRY(sandbox::seal(file_));
  is_sealed_ = true;
  return {};
}

bool ShellImage::is_reusable() const noexcept {
  struct stat of{};
  return file_ && !is_sealed_ && ::lseek(file_.get(), 0, SEEK_SET) == 0 &&
         ::fstat(file_.get(), &of) == 0 && of.st_blocks <= most_blocks_kept;
}

}  // namespace cloche::sandbox
