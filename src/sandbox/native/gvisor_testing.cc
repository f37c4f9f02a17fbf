// SPDX-License-Identifier: Apache-2.0
#include "sandbox/native/gvisor_testing.h"

#include "native/host/test_image_testing.h"
#include "sandbox/native/trial.h"

namespace cloche::sandbox {

const std::string& no_gvisor_here() {
  static const std::string why = native::no_boxes_here().empty()
                                     ? try_native_sandbox("/nowhere", Isolation::gvisor).problem
                                     : native::no_boxes_here();
  return why;
}

}  // namespace cloche::sandbox
