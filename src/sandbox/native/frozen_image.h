// SPDX-License-Identifier: Apache-2.0
// FrozenImage: the image of a process that freezes itself (native/thaw/image.h), as it comes out of
// a pipe. Nothing of it is looked at but how long it says it is; that is judged before memory is
// taken. A guest writes it, and one who writes something else gets what it wrote.
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
  explicit FrozenImage(std::uint64_t most_bytes) noexcept : most_bytes_(most_bytes) {}
  ~FrozenImage();
  FrozenImage(const FrozenImage&) = delete;
  FrozenImage& operator=(const FrozenImage&) = delete;

  // Reads what the pipe, which does not block, has. False: nothing at the moment, or never again.
  bool take_from(int pipe);
  // The file that has it. EINVAL: it is no image. E2BIG: it is larger than it may be. EIO: some of
  // it is missing, or too much came. Once.
  Result<UniqueFd> finish();

 private:
  Result<void> begin();
  std::size_t room() const noexcept;

  const std::uint64_t most_bytes_;
  std::string head_;  // until its size is known
  UniqueFd file_;
  std::byte* content_ = nullptr;
  std::uint64_t size_ = 0;
  std::uint64_t taken_ = 0;
  std::optional<Errno> problem_;
};

}  // namespace cloche::sandbox
