// SPDX-License-Identifier: Apache-2.0
// FrozenImage: the image of a process that freezes itself (native/thaw/image.h), as it comes out of
// a pipe. Nothing of it is looked at but how long it says it is; that is judged before memory is
// taken, and the kernel copies the rest from the pipe into the file. A guest writes it, and one who
// writes something else gets what it wrote.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cloche::sandbox {

class FrozenImage {
 public:
  // `name`: of the file, as those see it that have it mapped.
  explicit FrozenImage(std::uint64_t most_bytes, const char* name = "cloche") noexcept
      : most_bytes_(most_bytes), name_(name) {}
  FrozenImage(const FrozenImage&) = delete;
  FrozenImage& operator=(const FrozenImage&) = delete;

  // Reads what the pipe, which does not block, has. False: nothing at the moment, or never again.
  bool take_from(int pipe);
  // The file that has it. EINVAL: it is no image. E2BIG: it is larger than it may be. EIO: some of
  // it is missing, or too much came. Once.
  Result<UniqueFd> finish();

 private:
  bool take_head(int pipe);
  bool take_content(int pipe);
  static bool drop(int pipe);
  Result<void> begin();

  const std::uint64_t most_bytes_;
  const char* const name_;
  std::string head_;  // until its size is known
  UniqueFd file_;
  std::uint64_t size_ = 0;
  std::uint64_t taken_ = 0;
  std::optional<Errno> problem_;
};

}  // namespace cloche::sandbox
