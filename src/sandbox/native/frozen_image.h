// SPDX-License-Identifier: Apache-2.0
// FrozenImage: the image of a process that freezes itself (native/thaw/image.h), as it comes out of
// a pipe. Nothing of it is looked at but how long it says it is, and that is judged before memory
// is taken for it. A guest writes it, and one who writes something else gets what it wrote.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "native/host/large_file.h"

namespace cloche::sandbox {

class FrozenImage {
 public:
  // `name`: of the file, as those see it that have it mapped.
  explicit FrozenImage(std::uint64_t most_bytes, const char* name = "cloche") noexcept
      : most_bytes_(most_bytes), name_(name) {}
  // Into this file.
  FrozenImage(std::uint64_t most_bytes, native::LargeFile file) noexcept
      : most_bytes_(most_bytes),
        name_(nullptr),
        file_(std::move(file.writable)),
        result_(std::move(file.readable)) {}
  FrozenImage(const FrozenImage&) = delete;
  FrozenImage& operator=(const FrozenImage&) = delete;

  // Reads what the pipe, which does not block, has. False: nothing at the moment, or never again.
  bool take_from(int pipe);
  // It has come to its end.
  bool is_whole() const noexcept { return size_ != 0 && taken_ == size_; }
  // The file that has it, which nobody can write. EINVAL: it is no image. E2BIG: it is larger than
  // it may be. EIO: some of it is missing, or too much came. Once.
  Result<UniqueFd> finish();

 private:
  static constexpr std::size_t head_bytes = 16;

  static bool drop(int pipe);
  Result<void> begin();
  Result<void> write_piece();

  const std::uint64_t most_bytes_;
  const char* const name_;
  UniqueFd file_;
  UniqueFd result_;          // of a file that was given
  std::uint64_t size_ = 0;   // 0: it is not known yet
  std::uint64_t taken_ = 0;  // out of the pipe
  std::vector<char> piece_ = std::vector<char>(head_bytes);
  std::size_t held_ = 0;  // of it, and not written yet
  std::optional<Errno> problem_;
};

}  // namespace cloche::sandbox
