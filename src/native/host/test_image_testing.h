// SPDX-License-Identifier: Apache-2.0
// A small system image for tests, made of this machine's own programs: bash, coreutils and the
// like, and Python where it is there. Made once, kept among the temporary files of this user.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/unique_fd.h"
#include "native/host/warden.h"

namespace cloche::native {

// The folder; empty: the machine lacks what it takes.
const std::filesystem::path& test_image();
bool test_image_has_python();

// cloche-warden of this build.
std::filesystem::path warden_program();

// Why this machine can have no boxes, by a trial; empty: it can.
const std::string& no_boxes_here();

}  // namespace cloche::native

#define CLOCHE_NEEDS_BOXES()                                                                       \
  do {                                                                                             \
    if (!cloche::native::no_boxes_here().empty()) GTEST_SKIP() << cloche::native::no_boxes_here(); \
  } while (false)
