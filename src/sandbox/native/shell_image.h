// SPDX-License-Identifier: Apache-2.0
// ShellImage: what a live shell was between two turns, as the file that it has written
// (native/thaw/image.h). Nothing of it is looked at. The file is as large as it may become before
// the shell has it, and nobody can change that.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cloche::sandbox {

inline constexpr std::uint64_t most_shell_image_bytes = 16 << 20;

class ShellImage {
 public:
  static Result<ShellImage> make();

  int file() const noexcept { return file_.get(); }
  // Nobody can write to it from now on. EBUSY: somebody goes on writing.
  Result<void> seal();
  // Whether it can have another image: it is not sealed, and has not taken much memory.
  bool is_reusable() const noexcept;

 private:
  UniqueFd file_;
  bool is_sealed_ = false;
};

}  // namespace cloche::sandbox
