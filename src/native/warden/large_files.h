// SPDX-License-Identifier: Apache-2.0
// LargeFiles: files in memory that the kernel gives large pages to where it has some, so that what
// is written there costs a third. They lie in a file system of their own, which is mounted nowhere
// and has two doors; a file that is opened by the second cannot be written through it, nor opened
// anew to be written, by its owner neither. A file is in no folder, and ends with the last that has
// it.
#pragma once

#include "native/warden/fd.h"

namespace cloche::warden {

class LargeFiles {
 public:
  struct Made {
    int error = 0;  // an errno: this kernel has none
    Fd writable{}, readable{};
  };
  Made make() noexcept;

 private:
  int begin() noexcept;

  Fd writable_, readable_;  // the two doors
  int error_ = 0;
  bool has_begun_ = false;
};

}  // namespace cloche::warden
