// SPDX-License-Identifier: Apache-2.0
// What a guest needs to be frozen and to go on in another box, as files that it may have: the
// library of src/native/freeze, that of src/native/shell, which a kept shell has in it, and the
// program of src/native/thaw. Where this machine's kind has
// none, or they cannot be had, exist() is false.
#pragma once

#include <cstdint>

#include "base/unique_fd.h"

namespace cloche::sandbox {

class FreezePrograms {
 public:
  enum class Kind : std::uint8_t { of_this_machine, none };
  explicit FreezePrograms(Kind kind = Kind::of_this_machine);

  bool exist() const noexcept { return library_ && shell_ && thaw_; }
  int library() const noexcept { return library_.get(); }
  int shell() const noexcept { return shell_.get(); }
  int thaw() const noexcept { return thaw_.get(); }

 private:
  UniqueFd library_;
  UniqueFd shell_;
  UniqueFd thaw_;
};

}  // namespace cloche::sandbox
