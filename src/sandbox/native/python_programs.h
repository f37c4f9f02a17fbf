// SPDX-License-Identifier: Apache-2.0
// What a kept Python of a box runs (src/native/python): the driver, which it is started with, and
// the modules of a session, as a file that guests may have.
#pragma once

#include <string_view>

#include "base/unique_fd.h"

namespace cloche::sandbox {

class PythonPrograms {
 public:
  PythonPrograms();

  std::string_view driver() const noexcept;
  // -1: it cannot be had.
  int modules() const noexcept { return modules_.get(); }

 private:
  UniqueFd modules_;
};

}  // namespace cloche::sandbox
